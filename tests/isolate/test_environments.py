"""Environments by name: what may be declared, where it goes, and how it gets there."""

import subprocess
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from points import declare

from pytest_vla import cli
from pytest_vla.isolate import environment as module
from pytest_vla.isolate.environment import (
    IsolateError,
    environment,
    environments_folder,
    installed,
    place_of,
    python_of,
    read_declaration,
)
from pytest_vla.isolate.install import clean_variables, install

HOSTILE_NAMES = [
    "",
    "..",
    ".",
    "../up",
    "/etc",
    "a/b",
    "a\\b",
    "a b",
    "-r",
    "A",
    "a\0",
    "a\n",
    "x" * 41,
    "a+",
    "+a",
    "a+../b",
]
HOSTILE_REQUIREMENTS = [
    "-r /etc/passwd", "--target=/tmp/elsewhere", "-e .", "--index-url=http://elsewhere", "./wheel.whl",
    "/tmp/wheel.whl",
    "name @ file:///tmp/x", "name @ https://elsewhere/x.whl", "git+https://elsewhere/x", "numpy\n--target=/tmp",
    "numpy; os.system('x') #", "numpy==1 --hash=sha256:0", "$HOME", "numpy==`id`", "",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_refused_before_anything_is_touched(environments, name):
    for use in (place_of, environment, installed):
        with pytest.raises(IsolateError, match="is no name of an environment"):
            use(name)
    assert list(environments.iterdir()) == []


@given(st.text(max_size=30))
def test_whatever_the_name_its_folder_is_directly_in_the_environments_folder(name):
    try:
        folder = place_of(name)
    except IsolateError:
        return
    assert folder.parent == environments_folder()


@pytest.mark.parametrize("alone", ["", 'requirements = ["numpy"]\nalone'])
@pytest.mark.parametrize("line", HOSTILE_REQUIREMENTS)
def test_a_hostile_requirement_is_refused(tmp_path, line, alone):
    folder = declare(tmp_path / "x", f'python = ["3.11"]\n{alone or "requirements"} = [{line!r}]\n')
    with pytest.raises(IsolateError, match=r"is not a requirement|must be a list"):
        read_declaration("x", folder)


def test_a_hostile_lock_file_is_refused(tmp_path):
    folder = declare(tmp_path / "x", lock="# made by hand\nnumpy==2.4.6\n--extra-index-url http://elsewhere\n")
    with pytest.raises(IsolateError, match=r"requirements\.lock"):
        read_declaration("x", folder)


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "LD_PRELOAD", "PIP_INDEX_URL", "lower"])
def test_a_variable_that_decides_which_code_is_loaded_is_refused(tmp_path, name):
    text = f'python = ["3.11"]\nrequirements = ["numpy"]\nvariables = {{ {name} = "x" }}\n'
    with pytest.raises(IsolateError, match="cannot be set here"):
        read_declaration("x", declare(tmp_path / "x", text))


@pytest.mark.parametrize("name", ["../up.py", "/etc/x.py", "sub/x.py", "x.sh", ""])
def test_a_script_that_is_not_beside_its_declaration_is_refused(tmp_path, name):
    text = f'python = ["3.11"]\nrequirements = ["numpy"]\nprepare = "{name}"\n'
    with pytest.raises(IsolateError, match="is not a Python file beside it"):
        read_declaration("x", declare(tmp_path / "x", text))


def test_a_link_out_of_the_environments_folder_is_refused(environments, tmp_path):
    (environments / "points").symlink_to(tmp_path)
    with pytest.raises(IsolateError, match="leads out of"):
        place_of("points")


def test_a_mistyped_key_of_a_declaration_is_refused(tmp_path):
    with pytest.raises(IsolateError, match="nothing is known of pythn"):
        read_declaration("x", declare(tmp_path / "x", 'pythn = ["3.11"]\nrequirements = ["numpy"]\n'))


def test_a_combination_takes_the_simulators_versions_and_a_python_that_suits_both(environments, tmp_path, monkeypatch):
    harness = 'python = ["3.12", "3.11"]\nrequirements = ["harness==1"]\nimports = ["harness"]\n'
    robot = (
        'python = ["3.11"]\nrequirements = ["robot==2"]\ncombined = ["loader"]\nprepare = "first.py"\n'
        'renders = "mujoco"\nvariables = { GL = "x" }\n'
    )
    folders = {
        "harness": declare(tmp_path / "harness", harness, "harness==1\nNumpy_Thing==3\n"),
        "robot": declare(tmp_path / "robot", robot, "robot==2\nnumpy-thing==1\n"),
    }
    monkeypatch.setattr(module, "declarations", lambda: folders)
    both = environment("harness+robot")
    assert both.requirements == ("harness==1", "robot==2", "loader")
    assert environment("robot").requirements == ("robot==2",)
    assert both.prepare == (tmp_path / "robot" / "first.py",)
    assert both.lock == ("robot==2", "numpy-thing==1", "harness==1")
    assert (both.python, both.renders, both.variables) == (("3.11",), "mujoco", {"GL": "x"})
    assert both.command == "pytest-vla install harness --with=robot"


def test_an_entry_point_declares_an_environment(tmp_path, monkeypatch):
    package = tmp_path / "site" / "somebody"
    declare(package)
    (package / "__init__.py").touch()
    metadata = tmp_path / "site" / "somebody-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pytest_vla.environments]\ntheirs = somebody\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    module.declarations.cache_clear()
    try:
        assert environment("theirs").requirements == ("numpy",)
    finally:
        module.declarations.cache_clear()


def test_a_child_hears_nothing_of_our_interpreter(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("VIRTUAL_ENV", "/ours")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    variables = clean_variables({"MUJOCO_GL": "egl"})
    assert "PYTHONPATH" not in variables
    assert "VIRTUAL_ENV" not in variables
    assert (variables["MUJOCO_GL"], variables["PYTHONHASHSEED"], variables["OMP_NUM_THREADS"]) == ("egl", "0", "1")


@pytest.fixture
def wheels(tmp_path):
    """A folder of wheels with one small package in it, `tinybot`."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tinybot-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinybot.py", "ARMS = 2\n")
        wheel.writestr("tinybot-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinybot\nVersion: 1.0\n")
        wheel.writestr(
            "tinybot-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("tinybot-1.0.dist-info/RECORD", "")
    return folder


@pytest.fixture
def tiny(environments, tmp_path, monkeypatch):
    text = 'python = ["3.13", "3.12", "3.11"]\nrequirements = ["tinybot"]\nimports = ["tinybot"]\n'
    folders = {"tiny": declare(tmp_path / "tiny", text, "tinybot==1.0\n")}
    monkeypatch.setattr(module, "declarations", lambda: folders)
    return environments / "tiny"


@pytest.mark.slow
def test_install_offline_then_again_then_after_it_was_broken_off(tiny, wheels, capsys):
    assert cli.main(["install", "tiny", f"--offline={wheels}"]) == 0
    said = capsys.readouterr().out
    assert "tiny: installing tinybot" in said
    receipt = installed("tiny")
    assert receipt.packages == ("tinybot==1.0",)
    assert receipt.bytes > 1000
    assert subprocess.run([python_of(tiny), "-c", "import tinybot"]).returncode == 0

    assert cli.main(["install", "tiny"]) == 0
    assert "installed already" in capsys.readouterr().out

    (tiny / "installed.json").unlink()  # as if it had been killed before the end
    assert installed("tiny") is None
    assert cli.main(["install", "tiny", f"--offline={wheels}"]) == 0
    assert "going on with what is in" in capsys.readouterr().out
    assert installed("tiny").packages == receipt.packages

    assert cli.main(["uninstall", "tiny"]) == 0
    assert not tiny.exists()


@pytest.mark.slow
def test_a_package_that_is_installed_alone_brings_nothing_along(environments, tmp_path, wheels, monkeypatch, capsys):
    """A benchmark that asks for a training stack runs without it: `requirements` has what it needs."""
    with zipfile.ZipFile(wheels / "greedy-1.0-py3-none-any.whl", "w") as wheel:
        meta = "Metadata-Version: 2.1\nName: greedy\nVersion: 1.0\nRequires-Dist: gigabytes\n"
        wheel.writestr("greedy.py", "import tinybot\n")
        wheel.writestr("greedy-1.0.dist-info/METADATA", meta)
        wheel.writestr(
            "greedy-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("greedy-1.0.dist-info/RECORD", "")
    text = (
        'python = ["3.13", "3.12", "3.11"]\nrequirements = ["tinybot"]\nimports = ["greedy"]\nalone = ["greedy==1.0"]\n'
    )
    folders = {"tiny": declare(tmp_path / "tiny", text)}
    monkeypatch.setattr(module, "declarations", lambda: folders)
    assert cli.main(["install", "tiny", f"--offline={wheels}"]) == 0
    assert installed("tiny").packages == ("greedy==1.0", "tinybot==1.0")


@pytest.mark.slow
def test_an_install_that_fails_says_why_and_leaves_no_receipt(tiny, wheels, capsys):
    (wheels / "tinybot-1.0-py3-none-any.whl").unlink()
    assert cli.main(["install", "tiny", f"--offline={wheels}"]) == 4
    assert "tiny could not be installed; the same command goes on from here" in capsys.readouterr().err
    assert installed("tiny") is None


def test_bad_names_and_folders_are_one_line(environments, tmp_path, capsys):
    for typed in (["install", "../up"], ["install", "pionts"], ["install", "points", "--offline=nowhere"],
                  ["uninstall", "points"], ["uninstall", "/tmp"]):  # fmt: skip
        assert cli.main(typed) == 4
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(environments.iterdir()) == []


def test_an_interpreter_that_is_not_here_is_named(environments, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    declared = read_declaration("points", declare(tmp_path / "old", 'python = ["3.4"]\nrequirements = ["numpy"]\n'))
    with pytest.raises(IsolateError, match=r"runs on Python 3\.4, which is neither on the PATH nor in pyenv"):
        install(declared, say=lambda line: None)


def test_an_interpreter_of_pyenv_is_found_though_it_is_not_on_the_path(environments, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    python = tmp_path / "pyenv" / "versions" / "3.4.9" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 3.4\n")
    python.chmod(0o755)
    declared = read_declaration("points", declare(tmp_path / "old", 'python = ["3.4"]\nrequirements = ["numpy"]\n'))
    said: list[str] = []
    with pytest.raises(OSError):  # it is no Python: what it is asked to make is not there afterwards
        install(declared, say=said.append)
    assert any(line.startswith("points: making ") for line in said)
