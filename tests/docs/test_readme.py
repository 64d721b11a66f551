"""What the README and the docs tell people to type works as typed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text()
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def section(text, title):
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def blocks(text, language):
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def commands(text):
    return [line for block in blocks(text, "") for line in block.splitlines() if line.strip()]


def write_examples(text, folder):
    for code in blocks(text, "python"):
        name = re.match(r"# (\w+\.py)\n", code)
        if name:
            (folder / name[1]).write_text(code)


def type_in(folder, line):
    """Run one line as a shell would, with the programs of this interpreter's environment first."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "PYTEST_ADDOPTS": os.environ["PYTEST_ADDOPTS"]}
    return subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env=environment)


def test_quick_start_is_two_commands():
    lines = commands(section(README, "Quick start"))
    assert len(lines) == 2
    assert lines[0].startswith('pip install -c constraints.txt -e ".[all]" && pytest --vla-suite=vima --vla-policy=')
    assert lines[1] == 'pip install -c constraints.txt -e ".[all,dev]" && pytest tests -n auto'


@pytest.mark.slow
def test_the_readmes_policy_and_suite_run_as_pasted(tmp_path):
    for title in ("Test your policy", "Write a suite"):
        text = section(README, title)
        write_examples(text, tmp_path)
        for line in commands(text):
            result = type_in(tmp_path, line)
            assert result.returncode in (0, 1), line + result.stdout + result.stderr
            assert " 0 errors" in result.stdout, line + result.stdout


@pytest.mark.slow
def test_the_readmes_commands_after_a_run_work_as_pasted(tmp_path):
    lines = commands(section(README, "After the run"))
    assert len(lines) == 6
    for line in lines:
        result = type_in(tmp_path, line)
        assert result.returncode == 0, line + result.stdout + result.stderr


def test_the_readmes_suite_has_about_twenty_lines():
    (code,) = [code for code in blocks(section(README, "Write a suite"), "python") if "test_guess" in code]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 25


def test_the_suite_page_runs_as_pasted(tmp_path):
    shutil.copy(REPOSITORY / "docs" / "examples" / "test_reach.py", tmp_path)
    for line in commands((REPOSITORY / "docs" / "suites.md").read_text()):
        assert "episodes solved, 0 errors" in type_in(tmp_path, line).stdout, line


@pytest.mark.proof
def test_the_commands_of_the_mujoco_page_run_as_pasted(tmp_path):
    pytest.importorskip("mujoco")
    text = (REPOSITORY / "docs" / "mujoco_suite.md").read_text()
    shutil.copytree(REPOSITORY / "docs" / "examples" / "workbench", tmp_path / "workbench")
    for line in commands(text):
        result = type_in(tmp_path, line)
        assert result.returncode == 0, line + result.stdout + result.stderr
        assert "episodes solved, 0 errors" in result.stdout, line


def test_the_code_of_the_mujoco_page_runs_as_pasted():
    pytest.importorskip("mujoco")
    from pytest_vla.kit.bench import SceneEdits

    names = {}
    text = (REPOSITORY / "docs" / "mujoco_suite.md").read_text()
    exec("\n".join(blocks(text, "python")), names)
    env = names["WorkbenchSuite"]().make_env("press_button")
    env.world.reset(names["BENCH"], [names["Flap"]("flap", (0.0, 0.0))], SceneEdits())
    assert "flap" in env.world.state().joints
    env.close()


def test_every_option_the_docs_name_is_in_the_help():
    pages = [README, *(page.read_text() for page in sorted((REPOSITORY / "docs").glob("*.md")))]
    named = {option for page in pages for option in re.findall(r"--vla-[a-z]+(?:-[a-z]+)*", page)}
    offered = set(re.findall(r"^ +(--vla-[a-z-]+)", type_in(REPOSITORY, "pytest --help").stdout, re.MULTILINE))
    assert len(named) > 20
    assert named <= offered, f"the docs name options that do not exist: {sorted(named - offered)}"


def test_links_between_the_docs_lead_somewhere():
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.proof
def test_the_training_page_runs_as_pasted(tmp_path):
    text = (REPOSITORY / "docs" / "train.md").read_text()
    write_examples(text, tmp_path)
    (settings,) = blocks(text, "toml")
    (tmp_path / "my_policy.toml").write_text(settings)
    _, record, train, run = commands(text)
    assert type_in(tmp_path, record.replace("--episodes=100", "--episodes=1")).returncode == 0
    assert type_in(tmp_path, train).returncode == 0
    assert " 0 errors" in type_in(tmp_path, f"{run} --vla-task=rotate --vla-episodes=1").stdout
