"""Typed commands without their start: a process that has imported what they need, and forks for each of them.

A command runs as `python -m MODULE ARGUMENTS...` would, in a process, a folder and an environment of its own; only the
imports, which take most of a short command's time, are done already.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

IMPORTED = (
    "gymnasium",
    "pytest",
    "scipy.stats",
    "pytest_vla.cli",
    "pytest_vla.gate.commands",
    "pytest_vla.gate.judge",
    "pytest_vla.plugin",
    "pytest_vla.policies.actions",
    "pytest_vla.report.summary",
)


class Warm:
    """The process that forks, as its customer sees it: one command at a time."""

    def __init__(self) -> None:
        typed = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(typed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
        """The exit status of `python -m WORDS...`, and what it printed; of a killed one the signal, negated."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"words": list(words), "folder": str(folder), "environment": dict(environment)}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        return status, (folder / "output.txt").read_text()

    def close(self) -> None:
        self._process.communicate()


def serve() -> None:
    """Fork for every line that comes in, and answer with the exit status."""
    for name in IMPORTED:
        __import__(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


def _become(asked: Mapping[str, object]) -> None:
    """Be the command that was asked for, to the end."""
    status: object = 70
    try:
        os.chdir(str(asked["folder"]))
        os.environ.update(asked["environment"])  # type: ignore[call-overload]
        output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        module, *sys.argv[1:] = asked["words"]  # type: ignore[misc]
        sys.path[0] = os.getcwd()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    serve()
