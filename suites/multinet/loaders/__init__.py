"""The real data sets as they lie on disk: one file a format, and `folders.py` for which of them a task is in."""

from __future__ import annotations

from .folders import Missing, load

__all__ = ["Missing", "load"]
