"""The original VIMABench, where it is installed: the same cells, so that a score can be checked against ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .adapter import VimaUpstreamSuite


def suite() -> VimaUpstreamSuite:
    """The suite `vima_upstream`; it needs the package `vima_bench`."""
    from .adapter import VimaUpstreamSuite

    return VimaUpstreamSuite()
