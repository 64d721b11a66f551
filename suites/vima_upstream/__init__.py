"""The original VIMABench, on a checkout: the same cells, so that a score can be checked against ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import VimaUpstreamSuite


def suite() -> VimaUpstreamSuite:
    """The suite; `pytest-vla install vima_upstream` makes its environment, and `VIMA_BENCH_ROOT` names the checkout."""
    from .benchmark import VimaUpstreamSuite

    return VimaUpstreamSuite()
