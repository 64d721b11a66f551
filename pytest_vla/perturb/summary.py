"""Perturbed results next to their matched control: the same episodes, unperturbed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vla.perturb.axes import AXES, CONTRADICTION
from pytest_vla.perturb.axis import MAX_LEVEL, PerturbationError
from pytest_vla.perturb.perturbation import Perturbation
from pytest_vla.report.runfile import Record
from pytest_vla.report.table import Tally, format_tally

BAR_WIDTH = 30
Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Matched:
    """Episodes that were measured both ways."""

    perturbation: Perturbation
    control: Tally
    perturbed: Tally
    lost: int
    """Solved unperturbed, unsolved perturbed."""
    gained: int

    @property
    def change(self) -> float:
        return (self.gained - self.lost) / self.control.measured

    def interval(self) -> tuple[float, float]:
        """The 95% interval of the change, from the pairs that differ (Wald's, with Agresti and Min's half pair)."""
        n = self.control.measured + 2
        lost, gained = (self.lost + 0.5) / n, (self.gained + 0.5) / n
        middle, half = gained - lost, Z_95 * math.sqrt((gained + lost - (gained - lost) ** 2) / n)
        return max(middle - half, -1.0), min(middle + half, 1.0)


def matched(records: Iterable[Record]) -> list[Matched]:
    """One comparison per perturbation over all suites and tasks; pairs with an error on either side are left out."""
    solved: dict[str, dict[tuple[object, ...], bool]] = {}
    for record in records:
        if record["outcome"] != "error":
            where = (record["suite"], record["task"], record["partition"], record["index"], record.get("repeat") or 0)
            solved.setdefault(record.get("perturbation") or "", {})[where] = record["outcome"] == "solved"
    control = solved.pop("", {})
    found = []
    for text, outcomes in solved.items():
        perturbation = _known(text)
        if perturbation is None:
            continue
        pairs = [(control[where], now) for where, now in outcomes.items() if where in control]
        if pairs:
            found.append(
                Matched(
                    perturbation,
                    Tally(sum(before for before, _ in pairs), len(pairs)),
                    Tally(sum(now for _, now in pairs), len(pairs)),
                    sum(before and not now for before, now in pairs),
                    sum(now and not before for before, now in pairs),
                )
            )
    return sorted(found, key=lambda each: each.perturbation.levels)


def _known(text: str) -> Perturbation | None:
    """A run of another version may have axes that this one does not know."""
    try:
        return Perturbation.parse(text)
    except PerturbationError:
        return None


def perturbation_lines(records: Sequence[Record]) -> list[str]:
    """What the summary of a run says about its perturbations; nothing when there were none."""
    comparisons = matched(records)
    if not comparisons:
        return []
    lines = ["", "perturbed and matched control (the same episodes, unperturbed):"]
    width = max(len(str(each.perturbation)) for each in comparisons)
    for each in comparisons:
        low, high = each.interval()
        control, perturbed = format_tally(each.control), format_tally(each.perturbed)
        lines.append(
            f"  {each.perturbation!s:{width}}  {perturbed[0]:>6} {perturbed[1]:>9}  control {control[0]:>6} "
            f"{control[1]:>9}  change {100 * each.change:+.1f} [{100 * low:+.0f}, {100 * high:+.0f}]  "
            f"n={each.control.measured}"
        )
    return [*lines, *_curves(comparisons), *_language_check(comparisons)]


def _curves(comparisons: Sequence[Matched]) -> list[str]:
    """A bar per level for every axis of which several levels were measured alone."""
    by_axis: dict[str, dict[int, Matched]] = {}
    for each in comparisons:
        if len(each.perturbation.levels) == 1:
            ((name, level),) = each.perturbation.levels
            by_axis.setdefault(name, {})[level] = each
    lines = []
    for name, levels in by_axis.items():
        if len(levels) < 2:
            continue
        axis, some = AXES[name], next(iter(levels.values()))
        lines += ["", f"sweep of {name}: {axis.about}"]
        widest = max(len(axis.magnitude(level)) for level in range(MAX_LEVEL + 1))
        for level in range(MAX_LEVEL + 1):
            tally = some.control if level == 0 else levels[level].perturbed if level in levels else Tally()
            rate, bounds, n, _ = format_tally(tally)
            bar = "█" * round(BAR_WIDTH * (tally.rate or 0))
            lines.append(
                f"  {level}  {axis.magnitude(level):>{widest}}  {bar:<{BAR_WIDTH}} {rate:>6} {bounds:>9} n={n}"
            )
    return lines


def _language_check(comparisons: Sequence[Matched]) -> list[str]:
    """How often the old task was done although the instruction asked for something else."""
    lines = []
    for each in comparisons:
        if [name for name, _ in each.perturbation.levels] != [CONTRADICTION]:
            continue
        told, otherwise = each.control, each.perturbed
        rate, bounds, n, _ = format_tally(otherwise)
        lines += [
            "",
            f"language check: told otherwise, the policy still did the old task in {otherwise.solved} of {n} episodes "
            f"({rate} {bounds}); told so, in {told.solved}",
        ]
        if told.solved:
            blind = 1 - each.lost / told.solved
            lines.append(
                f"  of what it does when told, it does {blind:.0%} also when told otherwise (0% reads, 100% blind)"
            )
    return lines
