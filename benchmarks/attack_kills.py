"""Kills at any time, of any process of a run: nothing is lost, redone or doubled; and nothing unfinished passes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_vla.watchdog import STOPPED, state_of

REACH = Path(__file__).parents[1] / "docs" / "examples" / "test_reach.py"
SLOW = """
import time
import numpy as np
import pytest_vla as vla


class Slow(vla.Policy):
    def act(self, observations, states):
        time.sleep(0.01)
        return [o["state"]["goal"] - o["state"]["at"] for o in observations]
"""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
VICTIMS = ("controller", "worker", "server")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:syrupy"]
SOME = ["test_reach.py", "--vla-policy=slow:Slow", "-n2", "--vla-timeout=4"]
COMMANDS = {
    "run": [*SOME, "--vla-episodes=8"],
    "hunt": [*SOME, "--vla-hunt", "--vla-hunt-episodes=30", "--vla-task=near"],
    "record": [*SOME, "--vla-episodes=8", "--vla-record=demos", "--vla-suite=reach"],
    "report": [*SOME, "--vla-episodes=8", "--vla-report=page.html"],
}
EPISODES, HUNTS = 32, 2  # of each run; of each that hunts
LIMIT_S = 180.0


def attack_runs(folder: Path, count: int) -> dict[str, int]:
    """Kill, resume until it ends, and look at the file."""
    rng = random.Random(0)
    found = {"kills": count, "lost": 0, "redone": 0}
    for number in range(count):
        place = folder / f"{number:03d}"
        place.mkdir()
        shutil.copy(REACH, place)
        (place / "slow.py").write_text(SLOW)
        kind = list(COMMANDS)[number % len(COMMANDS)]
        command = [*PYTEST, *COMMANDS[kind], "--vla-run-dir=run"]
        before = _killed(rng, command, place)
        for _ in range(3):
            done = _ended([*command, "--vla-resume"], place)
            if done in (0, 1):
                break
        after = _lines(place)
        lost, redone = judged_hunts(before, after) if kind == "hunt" else judged(before, after, EPISODES)
        if kind == "record":
            missing, doubled = judged_demonstrations(place / "demos", after)
            lost, redone = lost + missing, redone + doubled
        if kind == "report":
            lost += EPISODES - _reported(place / "page.html")
        if lost or redone:
            print(f"--- kill {number} of {kind}: lost {lost}, redone {redone}", file=sys.stderr)
        found["lost"] += lost
        found["redone"] += redone
        shutil.rmtree(place)
    return found


def _killed(rng: random.Random, command: list[str], place: Path) -> list[dict[str, Any]]:
    """Start it, send one of its processes a signal at a random moment, and end what is left; the lines it had then."""
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    moment = time.monotonic() + rng.uniform(1.0, 8.0)
    while time.monotonic() < moment and process.poll() is None:
        time.sleep(0.02)
    victim, sent = rng.choice(VICTIMS), rng.choice(SIGNALS)
    children = _children(process.pid)
    servers = [child for child in children if b"inference.server" in _command_line(child)]
    workers = [child for child in children if child not in servers]
    chosen = {"controller": [process.pid], "server": servers, "worker": workers}[victim]
    if chosen and process.poll() is None:
        os.kill(rng.choice(chosen), sent)
    lines = _lines(place)
    try:
        process.wait(20.0 if victim != "controller" else 3.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in children:  # one that is stopped cannot notice that its controller is gone; others go on for a while
        with suppress(ProcessLookupError):
            if state_of(child) in STOPPED:
                os.kill(child, signal.SIGKILL)
    return lines


def _ended(command: list[str], place: Path) -> int:
    try:
        done = subprocess.run(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return -1
    if done.returncode == 4 and not (place / "run" / "run.jsonl").exists():
        return -1
    return done.returncode


def _lines(place: Path) -> list[dict[str, Any]]:
    """The lines that are complete."""
    try:
        text = (place / "run" / "run.jsonl").read_bytes()
    except OSError:
        return []
    complete = text[: text.rfind(b"\n") + 1]
    return [json.loads(line) for line in complete.splitlines() if line.strip()]


def judged(before: list[dict[str, Any]], after: list[dict[str, Any]], expected: int) -> tuple[int, int]:
    """Episodes that are missing, and those that were measured twice."""
    measured = Counter(_key(line) for line in after if _is_result(line) and line["outcome"] != "error")
    lost = len(_kept(before) - _kept(after)) + expected - len(measured)
    return lost, sum(times - 1 for times in measured.values())


def judged_hunts(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[int, int]:
    """A search may ask the same question again on purpose: there are as many probes as it says that it asked."""
    hunts = [line for line in after if line["type"] == "hunt"]
    probes = sum(line["type"] == "probe" for line in after)
    asked = sum(line["episodes"] for line in hunts)
    lost = len(_kept(before) - _kept(after)) + max(0, asked - probes) + HUNTS - len({_name(line) for line in hunts})
    return lost, max(0, probes - asked) + len(hunts) - len({_name(line) for line in hunts})


def judged_demonstrations(folder: Path, after: list[dict[str, Any]]) -> tuple[int, int]:
    """Solved episodes without a demonstration, and those with two."""
    from pytest_vla.train.dataset import read_dataset

    solved = {_name(line) + (line["index"],) for line in after if _is_result(line) and line["outcome"] == "solved"}
    kept = Counter((each.suite, each.task, each.partition, each.index) for each in read_dataset(folder))
    return len(solved - kept.keys()), sum(kept.values()) - len(kept) + len(kept.keys() - solved)


def _reported(page: Path) -> int:
    """How many episodes a page lists."""
    try:
        data = page.read_text().split('<script type="application/json" id="data">')[1].split("</script>")[0]
    except (OSError, IndexError):
        return 0
    return len(set(json.loads(data)["runs"][0]["columns"]["id"]))


def _kept(lines: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {_key(line) for line in lines if _is_result(line)}


def _name(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["suite"], line["task"], line["partition"]


def _is_result(line: dict[str, Any]) -> bool:
    return line["type"] in ("episode", "probe")


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("type", "suite", "task", "partition", "index", "perturbation", "repeat"))


def _children(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def attack_gates(folder: Path, count: int) -> dict[str, int]:
    """A whole run that passes, cut at a random line or byte: judged alone and merged with itself, none may pass."""
    rng, found = random.Random(1), {"cut_runs": count, "passed": 0}
    shutil.copy(REACH, folder)
    options = ["test_reach.py", "--vla-policy=oracle", "--vla-episodes=10", "--vla-run-dir=whole"]
    subprocess.run([*PYTEST, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    text = (folder / "whole" / "run.jsonl").read_bytes()
    first, last = text.index(b"\n") + 1, text.rfind(b'{"type": "episode"')
    for number in range(count):
        at = rng.randrange(first, last)
        cut = text[:at] if number % 2 else text[: text.rfind(b"\n", 0, at) + 1]
        if number % 3 == 0:
            cut = cut[: cut.rfind(b"\n") + 1] + b'{"type": "end", "episodes": 40}\n'
        place = folder / f"cut{number}"
        place.mkdir()
        (place / "run.jsonl").write_bytes(cut)
        found["passed"] += _gate(folder, place.name) == 0
        _command(folder, "merge", place.name, "-o", f"merged{number}")
        if (folder / f"merged{number}").exists():
            found["passed"] += _gate(folder, f"merged{number}") == 0
    if _gate(folder, "whole") != 0:
        raise RuntimeError("the whole run does not pass: nothing was shown")
    return found


def _gate(folder: Path, run: str) -> int:
    return _command(folder, "gate", run, "--success=reach=0.1")


def _command(folder: Path, *words: str) -> int:
    command = [sys.executable, "-m", "pytest_vla.cli", *words]
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
