"""What was written to the run file is let go of: pytest and its terminal keep every report, and every item, to the end.

Counts, `-r`, `--durations`, `--junitxml` and `--lf` are left what they need.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_vla.messages import CARRIER

SENT = ("node", "item_index", "testrun_uid")  # what xdist notes on a report on its way
SECTIONS = "_report_sections"  # pytest has no way to take back what was captured; under another name it is only kept
NOTHING: dict[str, Any] = {}


class Forgetting:
    """Reports of episodes that passed become as small as they can, once everybody has heard them.

    In a worker nobody asks for any again: what was sent is dropped.
    """

    def __init__(self, config: pytest.Config, worker: bool = False) -> None:
        self.config, self.worker = config, worker
        self._timed = config.getoption("durations", None) is not None
        self._listed = self._timed or bool({*"pPA"} & {*(config.getoption("reportchars", "") or "")})
        self._example: pytest.TestReport | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "[" not in report.nodeid or not (self.worker or (report.passed and not report.sections)):
            return
        if self.worker or getattr(report, CARRIER, False) or (report.when != "call" and not self._timed):
            self._drop(report)
            return
        file, line, name = report.location
        vars(report).update(keywords=NOTHING, user_properties=(), sections=(), location=(sys.intern(file), line, name))
        for attribute in SENT:
            vars(report).pop(attribute, None)

        if not self._listed:
            self._share(report)

    def _share(self, report: pytest.TestReport) -> None:
        """One report stands for all that passed and that nobody lists: they are only counted."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        passed = terminal.stats.get("passed", ()) if terminal is not None else ()
        if passed and passed[-1] is report:
            self._example = self._example or report
            passed[-1] = self._example

    def _drop(self, report: pytest.TestReport) -> None:
        """Of the controller's, only set-ups and tear-downs that passed: they count for `--durations` alone."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        for reports in terminal.stats.values() if terminal is not None else ():
            if reports and reports[-1] is report:
                reports.pop()


def lightened(data: Any) -> Any:
    """A report of an episode's phase that passed as it is sent: what nobody asks of it afterwards costs the driver."""
    if isinstance(data, dict) and data.get("outcome") == "passed" and "[" in data.get("nodeid", ""):
        return {**data, "keywords": NOTHING}
    return data


def forget(item: pytest.Item, *stashed: pytest.StashKey[Any]) -> None:
    """An item that has run keeps nothing of it, and nothing under these keys."""
    sections = vars(item).get(SECTIONS)
    if isinstance(sections, list):
        sections.clear()
    item.user_properties.clear()
    for key in stashed:
        if key in item.stash:
            del item.stash[key]
