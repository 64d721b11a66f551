"""Samples made by code, in the rows of the original data sets: nothing to download, and the answer is known."""

from __future__ import annotations

from .source import synthetic_source

__all__ = ["synthetic_source"]
