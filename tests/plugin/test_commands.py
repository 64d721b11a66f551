"""The table of commands: help by what a person wants, options named as in pytest, exit code 4 for bad input."""

import re
import subprocess
import sys

import pytest

from pytest_vla.cli import COMMANDS, main
from pytest_vla.command import PURPOSES, typed_again
from pytest_vla.options import OPTIONS

USAGE = pytest.ExitCode.USAGE_ERROR
NAMES = [command.name for command in COMMANDS]

# What is wrong with each command here, and a part of the one line that says so.
BAD_INPUT = {
    "install": (["../up"], "'../up' is no name of an environment"),
    "uninstall": (["/etc"], "'/etc' is no name of an environment"),
    "new-suite": (["My-Suite"], "a suite cannot be called 'My-Suite'"),
    "show": (["nowhere"], "nowhere"),
    "runs": (["nowhere"], "there is no run in 'nowhere/'"),
    "report": (["nowhere", "-o", "page", "--vla-video=some"], "--vla-video must be unsolved, all, none or a whole"),
    "plot": (["nowhere", "-o", "figures"], "nowhere"),
    "watch": (["nowhere", "--once"], "nowhere"),
    "export": (["nowhere", "--format=docx", "-o", "x"], "invalid choice: 'docx'"),
    "replay": (["nowhere", "reach/near-calm-00", "--vla-policy="], "--vla-policy must be a text, got ''"),
    "gate": (["nowhere", "--max-errors=some"], "--max-errors must be a whole number, 0 or more, got 'some'"),
    "compare": (["nowhere", "elsewhere", "--flips=-1"], "--flips: must be a whole number, 0 or more, got '-1'"),
    "import": (["nowhere.json", "-o", "run"], "'nowhere.json' is not a file"),
    "history": (["nowhere"], "there is no run with episodes below 'nowhere'"),
    "rank": (["nowhere", "elsewhere", "--confidence=1"], "--confidence: must be between 0 and 1, got '1'"),
    "published": (["--benchmark=vimabench"], "unknown benchmark 'vimabench'"),
    "comment": (["nowhere", "--link=page.html"], "--link: must be an address such as https://host/page"),
    "badge": (["nowhere", "-o", "badge.png"], "a badge is an SVG file: name it FILE.svg, got 'badge.png'"),
    "merge": (["nowhere"], "the following arguments are required: -o/--output"),
    "doctor": (["--vla-policy=bad:Slow"], "the following arguments are required: --vla-suite/--suite"),
    "explain": (["nowhere", "x", "--steps=some"], "--steps must be all or a number of steps, got 'some'"),
    "serve": (["bad:Slow", "--port=70000"], "--port: must be a whole number from 0 to 65535, got '70000'"),
    "tune": (["bad:Slow"], "the following arguments are required: --vla-suite/--suite"),
    "record": (["--vla-suite=vima", "--out=demos", "--episodes=many"], "--episodes must be a whole number, 0 or more"),
    "train": (["--config=nowhere.toml"], "nowhere.toml"),
    "environments": (["kinetix"], "unrecognized arguments: kinetix"),
    "suites": (["vmia"], "unknown suite 'vmia'; did you mean 'vima'"),
    "sheet": (["x.png", "--suite=vima,bomb"], "--vla-suite must be one name here, got vima, bomb"),
}

SHARED = {
    "report": {"--vla-video"},
    "replay": {"--vla-policy"},
    "gate": {"--vla-baseline", "--vla-max-errors"},
    "serve": {"--vla-policy", "--vla-device", "--vla-batch", "--vla-horizon", "--vla-ensemble"},
    "doctor": {"--vla-policy", "--vla-suite", "--vla-task", "--vla-partition", "--vla-preset", "--vla-max-episodes"},
    "tune": {"--vla-policy", "--vla-suite", "--vla-device"},
    "record": {"--vla-policy", "--vla-suite", "--vla-task", "--vla-partition", "--vla-episodes", "--vla-batch"},
    "sheet": {"--vla-suite", "--vla-task"},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def complaint(capsys):
    out, err = capsys.readouterr()
    assert not out
    (line,) = err.splitlines()
    assert line.startswith("pytest-vla: ")
    return line


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_the_help_lists_every_command_by_what_a_person_wants(capsys):
    text = help_of(capsys)
    places = [text.index(f"{purpose}:\n") for purpose in PURPOSES]
    assert places == sorted(places)
    for purpose, start, end in zip(PURPOSES, places, [*places[1:], len(text)], strict=True):
        rows = [line.split()[0] for line in text[start:end].splitlines() if line.startswith("  ")]
        assert rows == [command.name for command in COMMANDS if command.purpose == purpose]
        assert rows


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_command_has_help(command, capsys):
    assert command.help
    assert not command.help.endswith(".")
    assert f"usage: pytest-vla {command.name} " in help_of(capsys, command.name)


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_one_line_and_exit_code_4(name, capsys):
    arguments, message = BAD_INPUT[name]
    assert main([name, *arguments]) == USAGE
    assert message in complaint(capsys)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_does_not_exist_is_exit_code_4(name, capsys):
    assert main([name, "a", "b", "--no-such-option"]) == USAGE
    assert f"(see pytest-vla {name} --help)" in complaint(capsys)


def test_an_unknown_command_is_answered_with_the_nearest(capsys):
    assert main(["shwo"]) == USAGE
    assert "unknown command 'shwo'; did you mean 'show'?" in complaint(capsys)


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == USAGE
    error = capsys.readouterr().err
    assert all(f"  {name} " in error for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_of_pytest_has_its_name_there_and_the_short_one(name, capsys):
    flags = set(re.findall(r"--[a-z-]+[a-z]", help_of(capsys, name)))
    own = {"--resume", "--data"} if name == "train" else set()  # of a training, not of a run: its dataset
    shared = {option.flag for option in OPTIONS if f"--{option.name}" in flags - own}
    assert shared == {flag for flag in flags if flag.startswith("--vla-")}
    assert shared >= SHARED.get(name, set())


@pytest.mark.parametrize("flag", ["--vla-policy", "--policy"])
def test_a_policy_is_named_in_either_way(flag, capsys):
    assert main(["serve", f"{flag}=oracle"]) == USAGE
    assert "'oracle' needs the environment" in complaint(capsys)
    assert main(["serve", "oracle", f"{flag}=noop"]) == USAGE
    assert "name one policy, as POLICY or --vla-policy, got oracle and noop" in complaint(capsys)


def test_no_policy_or_two_devices_is_said(capsys):
    assert main(["tune", "--suite=vima"]) == USAGE
    assert "name one policy, as POLICY or --vla-policy, got none" in complaint(capsys)
    assert main(["tune", "bad:Slow", "--suite=vima", "--device=cpu,cuda", "--device=cuda:1"]) == USAGE
    assert "--vla-device must be one name here, got cpu, cuda, cuda:1" in complaint(capsys)


def test_what_a_command_passes_on_to_pytest_is_what_was_typed():
    assert typed_again("device", ("cpu", "cuda:1")) == ["--vla-device=cpu,cuda:1"]
    assert typed_again("deterministic", True) == ["--vla-deterministic"]
    assert typed_again("first-episode", 0) == ["--vla-first-episode=0"]
    assert typed_again("horizon", None) == typed_again("deterministic", False) == []


def test_a_folder_that_cannot_be_written_is_one_line(reach, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run")
    capsys.readouterr()
    reach.path.joinpath("file").touch()
    assert main(["merge", str(reach.path / "run"), "-o", str(reach.path / "file" / "x")]) == USAGE
    assert "file" in complaint(capsys)


def test_an_interrupted_command_is_exit_code_2(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_vla.registry.get_suites", interrupt)
    assert main(["suites"]) == pytest.ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


def test_the_command_line_imports_nothing_heavy():
    probe = (
        "import sys, pytest_vla.cli\n"
        "print([n for n in ('torch', 'pybullet', 'mujoco', 'scipy', 'gymnasium', 'matplotlib') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("suite", ["vima", "bomb", "agnostos_floating", "agnostos_delta"])
def test_the_page_of_a_suite_tells_what_a_policy_must_know(suite, capsys):
    from pytest_vla.registry import get_suite

    assert main(["suites", suite]) == 0
    shown, known = capsys.readouterr().out, get_suite(suite)
    for camera in known.cameras:
        assert f"images.{camera}: {known.image_sizes[camera][0]} x {known.image_sizes[camera][1]} pixels" in shown
    for key in known.state_keys:
        assert f"{key}: {known.meanings[f'state.{key}']}" in shown
    for name, meaning in known.meanings.items():
        assert f": {meaning}" in shown, name
    for word in (known.termination.value, *known.default_partitions(), *known.axes(), *known.tasks()):
        assert word in shown
    assert f"at most {known.step_limit(known.tasks()[0])} action" in shown
