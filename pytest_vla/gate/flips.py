"""How often an identical episode ends differently: pairing two runs is worth what determinism gives it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_vla.gate.comparisons import Cell, Record, cell_of
from pytest_vla.gate.intervals import rate_interval


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


def flip_rate(records: Iterable[Record]) -> FlipRate | None:
    """The flip rate of a run, or None where nothing was repeated."""
    episodes: dict[tuple[Cell, int], list[Record]] = defaultdict(list)
    has_repeats = False
    for record in records:
        has_repeats |= bool(record.get("repeat"))
        if record["outcome"] != "error":
            episodes[(cell_of(record), record["index"])].append(record)
    if not has_repeats:
        return None
    repeated = [group for group in episodes.values() if len(group) > 1]
    flipped = sum(len({record["outcome"] for record in group}) > 1 for group in repeated)
    drifted = sum(len({record.get("digest") for record in group}) > 1 for group in repeated)
    return FlipRate(len(repeated), flipped, drifted)
