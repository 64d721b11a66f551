"""Progress while a run goes on: a few rewritten lines on a terminal, plain lines now and then in a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from time import monotonic
from typing import Any

import pytest

from pytest_vla.episode import Cell, EpisodeKey, Outcome
from pytest_vla.run import Record

TERMINAL_PERIOD_S = 0.5
LOG_PERIOD_S = 30.0
LOG_WIDTH = 160


class PrefixRate:
    """The success rate over what is known of every cell in episode order, without gaps; each episode counts once.

    Solved episodes end early, so the rate over what happens to have arrived is too good.
    """

    def __init__(self) -> None:
        self._waiting: dict[Cell, dict[int, Outcome]] = defaultdict(dict)
        self._next: dict[Cell, int] = {}
        self.solved = 0
        self.measured = 0

    def add(self, record: Record, first: int) -> None:
        if record.key.repeat:
            return
        cell, waiting = record.cell, self._waiting[record.cell]
        waiting[record.key.index] = record.outcome
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
        from pytest_vla.report.running import Block, RunningRates

        self._config = config
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._is_terminal = bool(self._reporter and self._reporter.isatty)
        # With -v pytest itself prints a line per item, with -q nobody asked for progress.
        self.active = config.get_verbosity() == 0 and self._reporter is not None
        self.total = self.finished = self.errors = 0
        self._last_item: EpisodeKey | None = None
        self._running = RunningRates(first_episode)
        self._block = Block(self._reporter)
        self.statistics: Callable[[], dict[str, Any]] | None = None  # what the inference servers say of themselves
        for record in earlier:
            self._running.add(record)
        self._start: float | None = None
        self._last_shown = 0.0
        self._last_finished = 0.0

    def begin(self, total: int) -> None:
        self.total = total
        self._start = self._last_shown = monotonic()

    def add(self, record: Record) -> None:
        if record.planned != self._last_item:  # the rollouts of one item come one after the other
            self.finished += 1
        self._last_item = record.planned
        self.errors += not record.measured
        self._running.add(record)
        self._last_finished = monotonic()
        self._show()

    def skip(self) -> None:
        self.total -= 1

    def say(self, line: str) -> None:
        """A line that stays, above the progress; also in the middle of a test, whose output is captured."""
        if self._reporter is None or self._config.get_verbosity() < 0:
            return
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            if self.active and self._is_terminal:
                self._block.clear()
            else:
                self._reporter.ensure_newline()
            self._reporter.write_line(line)

    def speed(self) -> float | None:
        """Episodes per second so far."""
        if self._start is None or not self.finished:
            return None
        return self.finished / max(self._last_finished - self._start, 1e-9)

    def end(self) -> None:
        if self.active and self._is_terminal and self.finished:
            self._block.clear()

    def _show(self) -> None:
        period = TERMINAL_PERIOD_S if self._is_terminal else LOG_PERIOD_S
        now = monotonic()
        if not self.active or now - self._last_shown < period:
            return
        self._last_shown = now
        if self._is_terminal:
            self._block.show(self.lines(self._reporter._tw.fullwidth - 1))
        else:
            self._reporter.ensure_newline()
            for line in self.lines(LOG_WIDTH):
                self._reporter.write_line(line)

    def lines(self, width: int) -> list[str]:
        """The whole picture: how far, the rate of each partition, and what the inference servers do."""
        lines = [self.line(), *self._running.lines(width)]
        if self.statistics is not None:
            from pytest_vla.report.running import inference_line

            lines += filter(None, [inference_line(self.statistics())])
        return [line[:width] for line in lines]

    def line(self) -> str:
        speed = self.speed() or 0.0
        parts = [f"vla {self.finished}/{self.total}"]
        solved, measured = self._running.total()
        if measured:
            parts.append(f"solved {solved}/{measured} so far, in order")
        if self.errors:
            parts.append(f"{self.errors} errors")
        parts.append(f"{speed:.1f} episodes/s")
        if speed and self.total > self.finished:
            parts.append(f"ETA {clock((self.total - self.finished) / speed)}")
        return " · ".join(parts)


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
