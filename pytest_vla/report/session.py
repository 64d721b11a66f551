"""The report's share of a pytest session: after the last episode the page is written, and its path told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_vla.options import Settings, shown_path
from pytest_vla.run import RunFileError, read_run, run_path

if TYPE_CHECKING:
    from pytest_vla.session import Session


def register_report(config: pytest.Config, settings: Settings) -> None:
    """Add the hook below on the controller, where a report or films were asked for."""
    if settings.report.reporting and not hasattr(config, "workerinput") and not config.option.help:
        config.pluginmanager.register(ReportHooks(config, settings), "vla-report")


class ReportHooks:
    """Lives on the controller; the run file is closed when it reads it."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config, self.settings = config, settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """What would be missing at the end is said before the first episode."""
        from pytest_vla.report.html import check_report

        if self.config.option.collectonly:
            return
        try:
            check_report(self.settings.report.report)
        except RunFileError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        session: Session | None = self.config.pluginmanager.get_plugin("vla-session")
        if session is None or session.usage_error:
            return
        from pytest_vla.report.html import build_report
        from pytest_vla.report.media import Media

        def tell(line: str) -> None:
            if terminalreporter.isatty:
                terminalreporter.rewrite(line, erase=True)

        baseline = self.settings.gate.baseline
        address = self.settings.report.media
        try:
            media = Media.open(address) if address is not None else None
            run = read_run(session.writer.path)
            if not len(run) and not run.hunts and run.completeness(gated=False).finished:
                return  # there was nothing to do
            other = read_run(baseline) if baseline and run_path(baseline).suffix == ".jsonl" else None
            path = build_report(
                run,
                self.settings.report.report or session.folder,
                other,
                video=self.settings.report.video,
                trusted=[run],
                tell=tell,
                media=media,
            )
        except RunFileError as error:
            terminalreporter.write_line(f"no report: {error}", red=True)
            return
        tell("")
        terminalreporter.line(f"report: {shown_path(path)}")
