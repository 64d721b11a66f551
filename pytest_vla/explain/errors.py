"""The one exception of this room."""

from __future__ import annotations


class ExplainError(Exception):
    """What was asked cannot be explained: of this run, episode, step or policy."""
