"""What goes wrong in this room."""

from __future__ import annotations

from pytest_vla.run import RunFileError


class ReportError(RunFileError):
    """A report cannot be made of this run, or not here."""
