"""The process a world lives in: started when it is first needed, watched, and replaced when it is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeError
from pytest_vla.isolate import protocol
from pytest_vla.isolate.environment import Environment, python_of
from pytest_vla.isolate.install import clean_variables
from pytest_vla.isolate.rendering import VARIABLE, renderer_of
from pytest_vla.suite import provided

GB = 1 << 30
DATA_VARIABLE = "PYTEST_VLA_DATA_"  # and the name of an environment: the folder that --vla-data gives it
LAST_WORDS = 4000  # characters of what a child printed
CLOSE_S = 5.0  # how long a world may take to close


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a child: whose interpreter, which world, and what it may use."""

    python: Path
    world: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    """All of its environment variables."""
    memory_gb: float = 0.0
    """At how much memory it is stopped; 0: when the machine has none left."""
    prepare: Sequence[Path] = ()
    """Scripts that run before the world is imported."""


def launch_in(environment: Environment, world: Path, memory_gb: float = 0.0) -> Launch:
    """How to start a child in an environment that is installed."""
    variables = dict(environment.variables)
    if environment.renders:
        variables[VARIABLE] = renderer_of(environment)
    for part in environment.name.split("+"):
        if part in provided().data:
            variables[f"{DATA_VARIABLE}{part.upper()}"] = str(provided().data[part])
    python = python_of(environment.folder)
    return Launch(python, world, clean_variables(variables), memory_gb, environment.prepare)


class Child:
    """A running interpreter with one world in it. Whatever goes wrong with it is an error of the episode."""

    def __init__(self, launch: Launch) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    str(launch.python),
                    protocol.__file__,
                    str(theirs.fileno()),
                    str(launch.world),
                    str(int(launch.memory_gb * GB)),
                    *map(str, launch.prepare),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                env=dict(launch.variables) if launch.variables else None,
                start_new_session=True,  # Ctrl-C is for us; and what it starts itself goes with it
            )
        self._channel = protocol.Channel(ours, attach=protocol.attached, shares=True)
        self._words = _LastWords(self._process)
        self._waiting = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, name: str, *arguments: Any) -> dict[str, Any]:
        """Let the child do something. An answer that does not come in time is the caller's to notice: see `usable`."""
        self._waiting = True
        try:
            self._channel.send([name, list(arguments)])
            answer: dict[str, Any] = self._channel.receive()
        except (protocol.Gone, OSError, ValueError):
            raise EpisodeError("env_error", self._epitaph(name)) from None
        self._waiting = False
        if "error" in answer:
            raise EpisodeError("env_error", f"in its own process, {name}():\n{answer['error']}")
        return answer

    @property
    def usable(self) -> bool:
        """Whether it can be asked: alive, and not in the middle of something."""
        return not self._waiting and self._process.poll() is None

    def close(self) -> None:
        """Let it end by itself where it can, and make sure."""
        if self.usable:
            self._channel.sock.settimeout(CLOSE_S)
            try:
                self.ask("close")
                self._process.wait(CLOSE_S)
            except (EpisodeError, TimeoutError, subprocess.TimeoutExpired):
                pass
        self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._channel.close()
        self._words.close()

    def _epitaph(self, name: str) -> str:
        self._kill()
        code = self._process.returncode
        how = f"by signal {-code} ({_signal_name(-code)})" if code < 0 else f"with exit code {code}"
        words = self._words.text()
        said = f"; its last words:\n{words}" if words else ""
        return f"its own process ended {how} during {name}(){said}"


class _LastWords:
    """The end of what a child prints; the rest is let go, however much it is."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout
        self._text = b""
        self._thread = threading.Thread(target=self._drain, daemon=True, name="last words")
        self._thread.start()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._pipe.fileno(), 1 << 16)
            except (OSError, ValueError):
                return
            if not data:
                return
            self._text = (self._text + data)[-LAST_WORDS:]

    def text(self) -> str:
        self._thread.join(0.5)
        return self._text.decode(errors="replace").strip()

    def close(self) -> None:
        self._thread.join(0.5)
        self._pipe.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
