"""How often an identical episode ends differently: pairing two runs is worth what determinism gives it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.run.intervals import rate_interval
from pytest_vla.run.table import Table


@dataclass(frozen=True, slots=True)
class FlipRate:
    """Of `repeated` episodes measured at least twice, how many changed outcome, and how many changed at all."""

    repeated: int
    flipped: int
    drifted: int

    def __str__(self) -> str:
        if not self.repeated:
            return "flip rate: no episode was measured twice"
        low, high = rate_interval(self.flipped, self.repeated)
        return (
            f"flip rate: {self.flipped} of {self.repeated} repeated episodes ended differently "
            f"({100 * self.flipped / self.repeated:.1f}%, 95% CI [{100 * low:.0f}, {100 * high:.0f}]); "
            f"{self.drifted} went through other states"
        )


def flip_rate(table: Table) -> FlipRate | None:
    """The flip rate of a run, or None where nothing was repeated."""
    import numpy as np

    if not (table.repeat > 0).any():
        return None
    measured = table.measured()  # sorted by cell, index and repeat
    if not len(measured):
        return FlipRate(0, 0, 0)
    new = np.r_[True, (np.diff(measured.cell) != 0) | (np.diff(measured.index) != 0)]
    starts = np.flatnonzero(new)
    sizes = np.diff(np.r_[starts, len(measured)])

    def varies(column: np.typing.NDArray[np.generic]) -> np.typing.NDArray[np.bool_]:
        """Whether a group holds more than one value."""
        differs = column != np.repeat(column[starts], sizes)
        return np.logical_or.reduceat(differs, starts)

    repeated = sizes > 1
    return FlipRate(
        int(repeated.sum()), int(varies(measured.outcome)[repeated].sum()), int(varies(measured.digest)[repeated].sum())
    )
