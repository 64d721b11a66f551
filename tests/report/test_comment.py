"""The comment and the badge of a run: what they say, in which colour, and that they fit."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_vla.cli import main
from pytest_vla.report import comment as comments
from pytest_vla.report.badge import COLORS, NOT_JUDGED

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def runs(reach, capsys):
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=15", "--vla-run-dir=main")
    reach.runpytest("--vla-policy=noop", "--vla-episodes=15", "--vla-run-dir=new", "--vla-baseline=main")
    capsys.readouterr()
    return reach.path


def printed(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_verdict_is_that_of_the_gate_and_the_flips_are_those_of_compare(runs, capsys):
    assert main(["gate", "new", "--baseline=main"]) == 1
    verdict = capsys.readouterr().out.splitlines()[-1]
    compared = printed(capsys, "compare", "main", "new")
    text = printed(capsys, "comment", "new", "--baseline=main", "--flips=2", "--name=nightly")
    assert text.startswith(f"<!-- pytest-vla nightly -->\n\n### {verdict}\n")
    assert "flips from A to B: 60 lost, 0 gained" in compared
    assert "Flips against the baseline: 60 lost, 0 gained" in text
    assert text.count("- lost: ") == 2
    assert "- and 58 more lost" in text


def test_the_baseline_that_a_run_names_is_opened_with_trust_only(runs, capsys):
    assert main(["comment", "new"]) == 4
    assert "--baseline=main" in capsys.readouterr().err
    assert printed(capsys, "comment", "new", "--trust") == printed(capsys, "comment", "new", "--baseline=main")


def test_a_run_without_a_gate_says_its_rate_and_that_nothing_judged_it(runs, capsys):
    text = printed(capsys, "comment", "main")
    assert text.startswith("<!-- pytest-vla -->\n\n### vla: 100.0% [94, 100] of 60 episodes solved, 0 errors\n")
    assert "No gate" in text


@pytest.mark.parametrize("most", [300, 1200, 1700])
def test_what_does_not_fit_is_left_out_whole_and_that_is_said(runs, capsys, monkeypatch, most):
    monkeypatch.setattr(comments, "MOST_LETTERS", most)
    text = printed(capsys, "comment", "new", "--baseline=main")
    assert len(text) <= most + len(comments.LEFT_OUT)
    assert text.startswith("<!-- pytest-vla -->\n\n### vla gate: FAIL")
    assert text.endswith(comments.LEFT_OUT)
    assert text.count("<details>") == text.count("</details>")


def test_a_badge_has_the_rate_its_interval_and_the_colour_of_the_verdict(runs, capsys):
    for run, words, color in (
        ("main", "100.0% [94, 100] n=60", NOT_JUDGED),
        ("new", "0.0% [0, 6] n=60 fail", COLORS["fail"]),
    ):
        assert printed(capsys, "badge", run, "-o", f"badges/{run}.svg") == f"badges/{run}.svg\n"
        text = (runs / "badges" / f"{run}.svg").read_text()
        assert [each.text for each in ET.fromstring(text).iter() if each.tag.endswith("}text")] == ["reach", words]
        assert color in text


def test_a_label_is_text_whatever_it_holds(runs, capsys):
    printed(capsys, "badge", "main", "-o", "badge.svg", "--label=<script>&\"'")
    root = ET.fromstring((runs / "badge.svg").read_text())
    assert not [each for each in root.iter() if "script" in each.tag]
    assert root.get("aria-label").startswith("<script>&\"'")


@pytest.mark.parametrize("bad", ["--link=javascript:alert(1)", "--link=https://x/) [y](z", "--name=a-->", "--name=a b"])
def test_a_link_or_a_name_that_would_break_out_is_refused(runs, capsys, bad):
    assert main(["comment", "main", bad]) == 4
    assert "must be" in capsys.readouterr().err


def test_the_page_about_it_shows_what_is_printed(reach, capsys):
    page = (DOCS / "ci.md").read_text()
    for command in re.findall(r"^pytest (test_reach.*) -n 2$", page, re.MULTILINE):
        reach.runpytest(*command.split())
    capsys.readouterr()
    (command,) = re.findall(r"^pytest-vla (comment .*)$", page, re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert f"\n{shown}\n<details>" in printed(capsys, *command.split())
    printed(capsys, "badge", "worse", "-o", "badge.svg")
    assert (reach.path / "badge.svg").read_text() == (DOCS / "badge.svg").read_text()
