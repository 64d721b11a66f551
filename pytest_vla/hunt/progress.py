"""How far a hunt is, said every now and then. A worker has no terminal: what it says travels as a report."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey

PERIOD_S = 15.0


class Progress:
    """Counts the probes of one hunt."""

    def __init__(self, item: pytest.Item, key: HuntKey) -> None:
        self.item, self.key = item, key
        self.asked = self.failed = 0
        self._told = monotonic()

    def add(self, asked: int, failed: int) -> None:
        self.asked += asked
        self.failed += failed
        if monotonic() - self._told >= PERIOD_S:
            self._told = monotonic()
            self.item.ihook.pytest_runtest_logreport(report=self._report())

    def line(self) -> str:
        where = f"{self.key.suite}/{self.key.task}-{self.key.partition}"
        return f"hunting in {where}: {self.asked} of {self.key.budget} episodes, {self.failed} failed"

    def _report(self) -> pytest.TestReport:
        item = self.item
        report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup", duration=0, start=0, stop=0)
        report.vla_hunting = self.line()  # type: ignore[attr-defined]
        return report


def show(config: pytest.Config, line: str) -> None:
    """Print a line in the middle of a test, unless nobody asked for progress."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.get_verbosity() < 0:
        return
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        reporter.ensure_newline()
        reporter.write_line(line)
