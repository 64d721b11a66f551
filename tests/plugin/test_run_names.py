"""Runs by name and by number, and what is checked before the first episode."""

import pytest

from pytest_vla.cli import main
from pytest_vla.run.places import listed_runs, run_path

OPTIONS = ["--vla-task=near", "--vla-episodes=1"]


@pytest.fixture
def named(reach):
    for policy, name in (("oracle", "first"), ("noop", "second")):
        reach.runpytest(f"--vla-policy={policy}", *OPTIONS, f"--vla-run-name={name}")
    return reach


def test_a_run_is_found_by_its_name_and_by_its_number(named, capsys):
    assert main(["runs"]) == 0
    title, first, second = capsys.readouterr().out.splitlines()
    assert title.split() == ["name", "made", "policy", "episodes", "success", "errors"]
    assert first.split()[:2] == ["1", "first"]
    assert "100.0%" in first
    assert second.split()[:2] == ["2", "second"]
    assert "0.0%" in second
    for word in ("second", "2", "vla-runs/second"):
        assert main(["show", word]) == 0
        assert "policy noop" in capsys.readouterr().out
    assert main(["compare", "1", "second"]) == 0
    assert "A = 1: policy oracle" in capsys.readouterr().out


def test_a_name_that_is_taken_is_refused_and_can_be_resumed(named):
    options = ["--vla-policy=oracle", "--vla-task=near", "--vla-episodes=2", "--vla-run-name=first"]
    refused = named.runpytest(*options)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*exists already: add --vla-resume*"])
    assert named.runpytest(*options, "--vla-resume").ret == 0


@pytest.mark.parametrize("name", ["a/b", "../up", "12", ".."])
def test_a_name_is_no_path_and_no_number(reach, name):
    result = reach.runpytest("--vla-policy=oracle", *OPTIONS, f"--vla-run-name={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a run cannot be called*"])
    assert not (reach.path / "vla-runs").exists()


@pytest.mark.parametrize("word", ["3", "0", "-1", "third", "no/where"])
def test_what_names_no_run_stays_what_was_typed(named, monkeypatch, word):
    monkeypatch.chdir(named.path)
    assert str(run_path(word)) == word
    assert len(listed_runs()) == 2


@pytest.mark.parametrize("where", ["file/inside", "folder.html"])
def test_a_report_that_cannot_be_written_is_said_before_the_first_episode(reach, where):
    (reach.path / "file").write_text("")
    (reach.path / "folder.html").mkdir()
    result = reach.runpytest("--vla-policy=oracle", *OPTIONS, f"--vla-report={where}", "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot write the report*"])
    assert not (reach.path / "run").exists()


def test_a_missing_extra_is_said_before_the_first_episode(reach):
    (reach.path / "conftest.py").write_text("import sys\nsys.modules['jinja2'] = None\n")
    result = reach.runpytest("--vla-policy=oracle", *OPTIONS, "--vla-report=page", "--vla-run-dir=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(['*a report needs jinja2: pip install "pytest-vla[[]report]"'])
    assert not (reach.path / "run").exists()
