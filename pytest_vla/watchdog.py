"""Processes that were stopped and not ended: no alarm of their own can go off, so the controller looks after them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic

PERIOD_S = 1.0
STOPPED = ("T", "t")


class Watchdog:
    """Ends processes that have been stopped for longer than a run waits for a step; whoever started them notices."""

    def __init__(self, limit: float, period: float = PERIOD_S) -> None:
        self.limit, self.period = limit, period
        self.ended: list[int] = []
        self._since: dict[int, float | None] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vla-watchdog", daemon=True)

    def watch(self, process: int) -> None:
        """Look after a process of this machine; 0 as the limit means that nobody is ever ended."""
        self._since.setdefault(process, None)
        if self.limit and not self._thread.is_alive():
            self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self.period):
            for process in list(self._since):
                self.check(process, monotonic())

    def check(self, process: int, now: float) -> None:
        state = state_of(process)
        if state is None:
            self._since.pop(process, None)
        elif state not in STOPPED:
            self._since[process] = None
        else:
            since = self._since[process] = self._since.get(process) or now
            if now - since > self.limit:
                self._since.pop(process)
                self.ended.append(process)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)


def state_of(process: int) -> str | None:
    """The letter that Unix has for what a process does; None where there is no such process, or no such letter."""
    if not hasattr(signal, "SIGSTOP"):
        return None
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        if Path("/proc/self/stat").exists():
            return None
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run(["ps", "-o", "state=", "-p", str(process)], capture_output=True, text=True, timeout=5)
        return asked.stdout.strip()[:1] or None
    return None
