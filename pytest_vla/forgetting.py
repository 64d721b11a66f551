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
    """Reports of episodes that passed become as small as they can, once everybody has heard them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._timed = config.getoption("durations", None) is not None
        self._listed = self._timed or bool({*"pPA"} & {*(config.getoption("reportchars", "") or "")})
        self._example: pytest.TestReport | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "[" not in report.nodeid or not report.passed or report.sections:
            return
        if getattr(report, CARRIER, False) or (report.when != "call" and not self._timed):
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
        """Set-ups and tear-downs that passed: they count for `--durations` alone."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        for reports in terminal.stats.values() if terminal is not None else ():
            if reports and reports[-1] is report:
                reports.pop()


class Unread:
    """The terminal of a worker, which nobody reads: there for who asks for it, deaf and with no memory."""

    def __init__(self, terminal: object) -> None:
        self._terminal = terminal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


class Hush:
    """Puts it in the place of pytest's own, which is registered after us."""

    def pytest_plugin_registered(self, plugin: object, plugin_name: str, manager: pytest.PytestPluginManager) -> None:
        if plugin_name == "terminalreporter" and not isinstance(plugin, Unread):
            manager.unregister(plugin)
            manager.register(Unread(plugin), plugin_name)


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
