"""The one exception of this room."""

from __future__ import annotations


class PolicyError(Exception):
    """A policy cannot be loaded, does not fit the suite, or broke its contract."""
