"""With which status a run ends: decided here, once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_vla.run import Run
from pytest_vla.run.table import UNSOLVED

CLEAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


@dataclass(frozen=True, slots=True)
class Ending:
    """All that decides with which status the process ends."""

    status: int | pytest.ExitCode
    """What pytest itself would say."""
    run: Run
    max_errors: int = 0
    other_failures: int = 0
    """Failures that no episode stands for: of hunts, of other tests, of collection."""
    bad_input: bool = False
    hopeless: bool = False
    """The run was given up: errors and nothing else."""
    verdict: int | None = None
    """The exit status of the gate's verdict."""

    def exit_status(self) -> int | pytest.ExitCode:
        """0 pass, 1 fail or unfinished, 2 interrupted, 4 bad input, 5 nothing ran, 6 undecided."""
        if self.bad_input:
            return pytest.ExitCode.USAGE_ERROR
        if self.hopeless:
            return pytest.ExitCode.TESTS_FAILED
        ran = len(self.run) or self.run.hunts
        if self.status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not ran:
            return pytest.ExitCode.NO_TESTS_COLLECTED if self.run.unrun or self.status else pytest.ExitCode.OK
        if self.status not in (*CLEAN, pytest.ExitCode.NO_TESTS_COLLECTED):
            return self.status
        if self.other_failures or any(hunt.causes for hunt in self.run.hunts):
            return pytest.ExitCode.TESTS_FAILED
        if self.verdict is not None:
            return self.verdict
        failed = (
            (self.run.table.outcome == UNSOLVED).any()
            or self.run.table.error_count() > self.max_errors
            or (len(self.run) and not len(self.run.table.measured()))
            or self.run.objections
            or not self.run.completeness(gated=False).finished
        )
        return pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK
