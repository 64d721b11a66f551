"""Progress while a run goes on: one rewritten line on a terminal, a plain line now and then in a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from time import monotonic
from typing import Any

import pytest

from pytest_vla.report.runfile import Record

TERMINAL_PERIOD_S = 0.5
LOG_PERIOD_S = 30.0


class PrefixRate:
    """The success rate over what is known of every cell in episode order, without gaps.

    Solved episodes end early, so the rate over what happens to have arrived is too good.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[Any, ...], dict[int, str]] = defaultdict(dict)
        self._next: dict[tuple[Any, ...], int] = {}
        self.solved = 0
        self.measured = 0

    def add(self, record: Record, first: int) -> None:
        cell = (record["suite"], record["task"], record["partition"], record["perturbation"])
        waiting = self._waiting[cell]
        waiting[record["index"]] = record["outcome"]
        index = self._next.get(cell, first)
        while index in waiting:
            outcome = waiting.pop(index)
            self.measured += outcome != "error"
            self.solved += outcome == "solved"
            index += 1
        self._next[cell] = index


class Live:
    """Counts finished items and says so, never more often than a person can read."""

    def __init__(self, config: pytest.Config, first_episode: int = 0, earlier: Iterable[Record] = ()) -> None:
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._is_terminal = bool(self._reporter and self._reporter.isatty)
        self._first = first_episode
        # With -v pytest itself prints a line per item, with -q nobody asked for progress.
        self.active = config.get_verbosity() == 0 and self._reporter is not None
        self.total = self.finished = self.errors = 0
        self._rate = PrefixRate()
        for record in earlier:
            self._rate.add(record, first_episode)
        self._start: float | None = None
        self._last_shown = 0.0
        self._last_finished = 0.0

    def begin(self, total: int) -> None:
        self.total = total
        self._start = self._last_shown = monotonic()

    def add(self, record: Record) -> None:
        self.finished += 1
        self.errors += record["outcome"] == "error"
        self._rate.add(record, self._first)
        self._last_finished = monotonic()
        self._show()

    def skip(self) -> None:
        self.total -= 1

    def speed(self) -> float | None:
        """Episodes per second so far."""
        if self._start is None or not self.finished:
            return None
        return self.finished / max(self._last_finished - self._start, 1e-9)

    def end(self) -> None:
        if self.active and self._is_terminal and self.finished:
            self._reporter.rewrite("", erase=True)

    def _show(self) -> None:
        period = TERMINAL_PERIOD_S if self._is_terminal else LOG_PERIOD_S
        now = monotonic()
        if not self.active or now - self._last_shown < period:
            return
        self._last_shown = now
        if self._is_terminal:
            self._reporter.rewrite(self.line(), erase=True)
        else:
            self._reporter.ensure_newline()
            self._reporter.write_line(self.line())

    def line(self) -> str:
        speed = self.speed() or 0.0
        parts = [f"vla {self.finished}/{self.total}"]
        if self._rate.measured:
            parts.append(f"solved {self._rate.solved}/{self._rate.measured} so far, in order")
        if self.errors:
            parts.append(f"{self.errors} errors")
        parts.append(f"{speed:.1f} episodes/s")
        if speed and self.total > self.finished:
            parts.append(f"ETA {_clock((self.total - self.finished) / speed)}")
        return " · ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
