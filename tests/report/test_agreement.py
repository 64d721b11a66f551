"""One hard run (repeats, perturbed episodes, errors, two renderers): whoever counts it comes to the same numbers."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from counted import OUTCOMES

from pytest_vla.run import Tally
from pytest_vla.run.intervals import paired_interval, rate_interval

HERE = Path(__file__).parent
CHANGE = "language.typos=3"
GATE = '[tool.pytest_vla.gate]\nby = "task"\nmargin = 0.2\n[tool.pytest_vla.gate.success]\n"counted" = 0.5\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The run `new` against its baseline `old`, and everything that is made of them."""
    pytest.importorskip("jinja2")
    path = tmp_path_factory.mktemp("counted")
    shutil.copy(HERE / "counted.py", path / "test_counted.py")
    (path / "pyproject.toml").write_text(GATE)
    options = ["--vla-policy=test_counted:Policy", "--vla-repeat=2", f"--vla-perturb={CHANGE}", "--vla-max-errors=9"]
    run(path, "-m", "pytest", *options, "--vla-run-dir=old", COUNTED="old", RENDERER="egl")
    # The other renderer draws `stack`: a run in two parts, put together.
    for task, renderer in (("push", "egl"), ("stack", "osmesa")):
        part = [*options, f"--vla-task={task}", f"--vla-run-dir={task}", f"--junitxml={task}.xml", "--vla-baseline=old"]
        (path / f"{task}.txt").write_text(run(path, "-m", "pytest", *part, COUNTED="new", RENDERER=renderer))
    vla(path, "merge", "push", "stack", "-o", "new")
    (path / "show.txt").write_text(vla(path, "show", "new"))
    (path / "gate.txt").write_text(vla(path, "gate", "new", "--baseline=old", "--success=counted=0.5"))
    (path / "compare.txt").write_text(vla(path, "compare", "old", "new"))
    vla(path, "report", "new", "old", "-o", "page.html", "--video=none")
    for kind in ("csv", "json", "markdown"):
        vla(path, "export", "new", f"--format={kind}", "-o", f"new.{kind}")
    return path


def run(path, *command, **environment):
    import os

    env = {**os.environ, "PYTEST_ADDOPTS": f"{os.environ['PYTEST_ADDOPTS']} -p no:cacheprovider", **environment}
    done = subprocess.run([sys.executable, *command], cwd=path, env=env, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def vla(path, *arguments):
    return run(path, "-m", "pytest_vla.cli", *arguments)


def tallied(which="new"):
    """What was planted, as {(task, partition, perturbation): tally}."""
    cells = {}
    for (task, partition), letters in OUTCOMES[which].items():
        for change in ("", CHANGE):
            outcomes = Counter(
                "u" if change and index % 2 and letter == "." else letter for index, letter in enumerate(letters)
            )
            cells[(task, partition, change)] = Tally(outcomes["."], outcomes["."] + outcomes["u"], outcomes["E"])
    return cells


def total(cells):
    return sum(cells.values(), Tally())


def rows_of(text):
    """The rows of a table in a terminal or in Markdown, by task, partition and perturbation."""
    found = {}
    for line in text.splitlines():
        line = line.replace("|", " ").replace("*", "").replace("\\", "")
        match = re.match(
            rf"\s*counted/(\w+)\s+(\w+)(?: ({re.escape(CHANGE)}))?\s+([\d.]+%)\s+(\[\d+, \d+\])\s+(\d+)\s*(\d*)\s*$",
            line,
        )
        if match:
            task, partition, change, *shown = match.groups()
            found[(task, partition, change or "")] = tuple(shown)
    return found


def texts(cells):
    return {cell: tally.texts() for cell, tally in cells.items()}


def test_the_terminal_of_each_part_says_what_was_planted(folder):
    for task in ("push", "stack"):
        wanted = {cell: tally for cell, tally in tallied().items() if cell[0] == task}
        text = (folder / f"{task}.txt").read_text()
        assert rows_of(text) == texts(wanted)
        tally = total(wanted)
        assert f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors" in text


def test_the_table_of_the_whole_says_it_too(folder):
    text = (folder / "show.txt").read_text()
    assert rows_of(text) == texts(tallied())
    tally = total(tallied())
    assert f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors" in text


def test_so_does_markdown(folder):
    text = (folder / "new.markdown").read_text()
    assert rows_of(text) == texts(tallied())
    tally = total(tallied())
    assert f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors." in text


def test_so_does_json(folder):
    data = json.loads((folder / "new.json").read_text())
    cells = {(row["task"], row["partition"], row["perturbation"]): row for row in data["cells"]}
    for cell, tally in tallied().items():
        row = cells.pop(cell)
        assert (row["solved"], row["measured"], row["errors"]) == (tally.solved, tally.measured, tally.errors)
        assert (row["low"], row["high"]) == tally.interval()
    assert not cells
    assert data["all"]["measured"] == total(tallied()).measured
    assert data["complete"] == {"planned": 72, "done": 72, "finished": True}


def test_so_does_csv_without_its_repeats(folder):
    with (folder / "new.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 18, "every record is there, repeats too"
    cells = defaultdict(Counter)
    for row in rows:
        if row["repeat"] == "0":
            cells[(row["task"], row["partition"], row["perturbation"])][row["outcome"]] += 1
    assert {
        cell: Tally(count["solved"], count["solved"] + count["unsolved"], count["error"])
        for cell, count in cells.items()
    } == tallied()


def test_so_does_junit_without_its_repeats(folder):
    cells = defaultdict(Counter)
    for task in ("push", "stack"):
        for case in ElementTree.parse(folder / f"{task}.xml").iter("testcase"):
            facts = {item.get("name"): item.get("value") for item in case.iter("property")}
            if facts["vla.repeat"] == "0":
                cell = (facts["vla.task"], facts["vla.partition"], facts.get("vla.perturbation", ""))
                cells[cell][facts["vla.outcome"]] += 1
    assert {
        cell: Tally(count["solved"], count["solved"] + count["unsolved"], count["error"])
        for cell, count in cells.items()
    } == tallied()


def test_so_does_the_page(folder):
    page = unescape((folder / "page.html").read_text())
    shown = {
        label: tuple(int(number or 0) for number in numbers)
        for label, *numbers in re.findall(r'title="([^"]*): (\d+) of (\d+) solved(?:, (\d+) errors)?"', page)
    }
    for (task, partition, change), tally in tallied().items():
        label = f"{task}, {partition} {change}".rstrip()
        assert shown[label] == (tally.solved, tally.measured, tally.errors), label
    unperturbed = total({cell: tally for cell, tally in tallied().items() if not cell[2]})
    assert f"{unperturbed.solved} of {unperturbed.measured} episodes" in page


def test_the_gate_counts_the_same(folder):
    text = (folder / "gate.txt").read_text()
    for (task, partition, change), tally in tallied().items():
        name = f"counted/{task}/{partition} {change}".rstrip()
        (row,) = [line for line in text.splitlines() if line.startswith(f"{name} ") and " threshold " in line
                  and (change or CHANGE not in line)]  # fmt: skip
        low, high = rate_interval(tally.solved, tally.measured)
        worst, interval = r"(?: \(worst [\d.]+%\))?", rf"\[{100 * low:.0f}, {100 * high:.0f}\]"
        assert re.search(rf"threshold +{tally.measured} +{100 * tally.rate:.1f}%{worst} +{interval}", row), row


def flips(task):
    """Pairs, gained and lost over the calm and windy, perturbed and plain episodes of a task."""
    pairs = gained = lost = 0
    for cell, letters in OUTCOMES["new"].items():
        if cell[0] != task:
            continue
        for change in ("", CHANGE):
            for index, letter in enumerate(letters):
                before = OUTCOMES["old"][cell][index]
                if "E" in (letter, before):
                    continue
                if change and index % 2:
                    before = letter = "u"
                pairs += 1
                gained += (before, letter) == ("u", ".")
                lost += (before, letter) == (".", "u")
    return pairs, gained, lost


def test_only_episodes_of_the_same_renderer_pair_wherever_runs_are_compared(folder):
    pairs, gained, lost = flips("push")
    assert lost == 0
    compared = (folder / "compare.txt").read_text()
    assert f"flips from A to B: {lost} lost, {gained} gained" in compared
    page = unescape((folder / "page.html").read_text())
    assert f"<strong>{pairs}</strong> shared episodes" in page
    assert "24 (made with another renderer or simulator)" in re.sub(r"\s+", " ", page) or (
        "12 (made with another renderer or simulator)" in re.sub(r"\s+", " ", page)
    )
    for text in (compared, (folder / "gate.txt").read_text()):
        stack = [line for line in text.splitlines() if line.startswith("counted/stack/calm")]
        assert any("unpaired" in line for line in stack), text
        assert not any(" paired" in line for line in stack), text
        assert re.search(r"made with renderer \w+, this run with \w+", text), text


def test_the_difference_of_a_pair_has_one_interval(folder):
    counts = defaultdict(lambda: [0, 0, 0])
    for cell, letters in OUTCOMES["new"].items():
        for index, letter in enumerate(letters):
            before = OUTCOMES["old"][cell][index]
            if "E" not in (letter, before):
                counts[cell][0] += (before, letter) == ("u", ".")
                counts[cell][1] += (before, letter) == (".", "u")
                counts[cell][2] += 1
    gained, lost, pairs = counts[("push", "windy")]
    low, high = paired_interval(gained, lost, pairs)
    effect = 100 * (gained - lost) / pairs
    shown = f"{effect:+.1f} [{100 * low:+.0f}, {100 * high:+.0f}]"
    (row,) = [
        line
        for line in (folder / "compare.txt").read_text().splitlines()
        if line.startswith("counted/push/windy ") and CHANGE not in line
    ]
    assert shown in row
    (row,) = [
        line
        for line in (folder / "gate.txt").read_text().splitlines()
        if line.startswith("counted/push/windy ") and " paired " in line and CHANGE not in line
    ]
    assert f"[{100 * low:.0f}, {100 * high:.0f}]" in row
