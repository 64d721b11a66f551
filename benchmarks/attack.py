"""Attacks on one machine: hostile run files, kills at any time, unfinished runs, hostile clients of a server.

python -m benchmarks.attack           1,000 files x the reading commands, 100 kills, 30 cut runs, 50 hostile clients
python -m benchmarks.attack --quick   120 files, 6 kills, 6 cut runs, and the clients for a few seconds
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from benchmarks.attack_clients import attack_server
from benchmarks.attack_files import MARK, SECRET, write_hostile
from benchmarks.attack_kills import attack_gates, attack_runs

EVIL = f"from pathlib import Path\nPath('executed').write_text('{MARK}')\n"
MEMORY_BYTES = 400 << 20  # above what the process has before the first file
HONEST = {"type": "run", "policy": {"text": "noop", "digest": "builtin:noop:0"}}
AS_PROCESS = 20  # one command in so many runs as a process of its own
HEARD = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "socket.getaddrinfo")


class Guard:
    """Hears what this process does: programs it starts, addresses it connects to, files of the victim that it opens."""

    def __init__(self) -> None:
        self.watching = False
        self.heard: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.watching:
            return
        if event in HEARD:
            self.heard.append(f"{event} {arguments!r}"[:300])
        elif event == "open" and str(arguments[0]).endswith("secret.png"):
            self.heard.append(f"open {arguments[0]}")


def commands(run: Path, other: Path, out: Path) -> list[list[str]]:
    """Every command that reads a run file."""
    return [
        ["show", str(run)],
        ["show", str(run), "--json"],
        ["show", str(run), "--sort=success"],
        ["compare", str(other), str(run)],
        ["compare", str(run), str(run), "--json", "--sort=difference"],
        ["gate", str(run), f"--baseline={other}"],
        ["gate", str(run), "--success=*=0.5"],
        ["report", str(run), "-o", str(out / "page.html")],
        ["export", str(run), "--format=csv", "-o", str(out / "a.csv")],
        ["export", str(run), "--format=markdown", "-o", str(out / "a.md")],
        ["export", str(run), "--format=json", "-o", str(out / "a.json")],
        ["export", str(run), "--format=model-index", "-o", str(out / "a.yml")],
        ["merge", str(run), "-o", str(out / "merged")],
        ["watch", str(run), "--once"],
        ["replay", str(run), "reach/near-calm-00"],
        ["runs", str(run.parent)],
    ]


def run_here(words: list[str]) -> tuple[str, str]:
    """What a command prints in this process, and the traceback that escaped it."""
    from pytest_vla.cli import main

    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(words)
    except SystemExit:
        pass
    except BaseException:
        return out.getvalue(), traceback.format_exc()
    return out.getvalue(), ""


def run_apart(words: list[str], folder: Path) -> tuple[str, str]:
    """The same as a process of its own."""
    command = [sys.executable, "-m", "pytest_vla.cli", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    told = done.stdout + done.stderr
    return told, told if "Traceback (most recent call last)" in told else ""


def harm_in(text: str) -> bool:
    """Whether a text would do something to the terminal or the CI job that shows it, or tells what it should not."""
    lines = text.split("\n")
    commanded = any(line.strip().startswith("::") or "##[" in line for line in lines)
    return commanded or SECRET in text or any(ord(letter) < 32 and letter not in "\n\t\r" for letter in text)


def attack_readers(folder: Path, count: int, first: int = 0) -> dict[str, int]:
    """Hostile run files, each given to every command that reads one."""
    guard, base = Guard(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"files": count, "commands": 0, "tracebacks": 0, "executions": 0, "connections": 0, "harmful_texts": 0}
    (folder / "evil.py").write_text(EVIL)
    (folder / "test_evil.py").write_text(EVIL)
    (folder / "secret.png").write_text(SECRET)
    os.chdir(folder)
    sys.path.insert(0, "")
    for seed in range(first, first + count):
        run = write_hostile(folder / "runs" / f"{seed:04d}", seed)
        other = write_hostile(folder / "others" / f"{seed:04d}", 10**6 + seed)
        out = folder / "out" / f"{seed:04d}"
        out.mkdir(parents=True)
        for number, words in enumerate(commands(run, other, out)):
            apart = (seed * 31 + number) % AS_PROCESS == 0
            if apart:
                told, escaped = run_apart(words, folder)
            else:
                guard.watching = True
                told, escaped = run_here(words)
                guard.watching = False
            found["commands"] += 1
            found["tracebacks"] += bool(escaped)
            found["harmful_texts"] += harm_in(told)
            if escaped or harm_in(told):
                print(f"--- seed {seed}: {' '.join(words)}\n{(escaped or told)[-1500:]}", file=sys.stderr)
        written = "".join(path.read_text(errors="replace") for path in out.glob("*.*"))
        found["harmful_texts"] += SECRET in written
        (run / "run.jsonl").unlink()
    found["executions"] = (folder / "executed").exists() + sum("socket" not in each for each in guard.heard)
    found["connections"] = sum("socket" in each for each in guard.heard)
    for each in guard.heard[:10]:
        print(f"heard: {each}", file=sys.stderr)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) << 10
    return {**found, "peak_mb": grown >> 20, "memory_exceeded": int(grown > MEMORY_BYTES)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("readers", "kills", "gates", "clients"))
    options = parser.parse_args()
    quick, home = options.quick, Path.cwd()
    figures: dict[str, Any] = {}
    parts = {
        "readers": lambda folder: attack_readers(folder, 120 if quick else 1000),
        "kills": lambda folder: attack_runs(folder, 6 if quick else 100),
        "gates": lambda folder: attack_gates(folder, 6 if quick else 30),
        "clients": lambda folder: attack_server(folder, 4.0 if quick else 20.0),
    }
    for name, attack in parts.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                figures[name] = attack(Path(folder))
                os.chdir(home)
            print(f"{name}: {figures[name]}", flush=True)
    bad = ("tracebacks", "executions", "connections", "harmful_texts", "memory_exceeded", "lost", "redone", "passed")
    ok = not any(part.get(name) for part in figures.values() for name in bad)
    ok = ok and figures.get("clients", {}).get("share", 1.0) >= 0.9
    target = {"everything bad": 0, "clients.share": 0.9}
    print(json.dumps({"name": "attack", **figures, "target": target, "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
