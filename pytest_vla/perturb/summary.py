"""Perturbed results next to their matched control: the same episodes, unperturbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_vla.perturb.axes import CONTRADICTION, axis_named
from pytest_vla.perturb.axis import MAX_LEVEL
from pytest_vla.perturb.perturbation import Perturbation
from pytest_vla.run import Pairs, Table, Tally, control_pairs
from pytest_vla.run.intervals import Interval, paired_interval

BAR_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Matched:
    """Episodes that were measured both ways."""

    perturbation: Perturbation
    control: Tally
    perturbed: Tally
    lost: int
    """Solved unperturbed, unsolved perturbed."""
    gained: int

    @classmethod
    def of(cls, perturbation: Perturbation, pairs: Pairs) -> Matched:
        control, perturbed = int(pairs.before.sum()), int(pairs.after.sum())
        return cls(perturbation, Tally(control, len(pairs)), Tally(perturbed, len(pairs)), pairs.lost, pairs.gained)

    @property
    def change(self) -> float:
        return (self.gained - self.lost) / self.control.measured

    def interval(self) -> Interval:
        """The 95% interval of the change, from the pairs that differ."""
        return paired_interval(self.gained, self.lost, self.control.measured)


def matched(table: Table) -> list[Matched]:
    """One comparison per perturbation over all suites and tasks; what does not pair is left out."""
    found = []
    for text in dict.fromkeys(cell.perturbation for cell in table.cells if cell.perturbation):
        perturbation, pairs = Perturbation.recorded(text), control_pairs(table, text)
        if perturbation is not None and len(pairs):
            found.append(Matched.of(perturbation, pairs))
    return sorted(found, key=lambda each: each.perturbation.levels)


def perturbation_lines(table: Table) -> list[str]:
    """What the summary of a run says about its perturbations; nothing when there were none."""
    comparisons = matched(table)
    if not comparisons:
        return []
    lines = ["", "perturbed and matched control (the same episodes, unperturbed):"]
    width = max(len(str(each.perturbation)) for each in comparisons)
    for each in comparisons:
        low, high = each.interval()
        control, perturbed = each.control.texts(), each.perturbed.texts()
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
        axis, some = axis_named(name), next(iter(levels.values()))
        lines += ["", f"sweep of {name}: {axis.about}"]
        shown = range(axis.lowest if min(levels) < 0 else 0, MAX_LEVEL + 1)
        digits, widest = len(str(shown[0])), max(len(axis.magnitude(level)) for level in shown)
        for level in shown:
            tally = some.control if level == 0 else levels[level].perturbed if level in levels else Tally()
            rate, bounds, n, _ = tally.texts()
            bar = "█" * round(BAR_WIDTH * (tally.rate or 0))
            start = f"  {level:>{digits}}  {axis.magnitude(level):>{widest}}"
            lines.append(f"{start}  {bar:<{BAR_WIDTH}} {rate:>6} {bounds:>9} n={n}")
    return lines


def _language_check(comparisons: Sequence[Matched]) -> list[str]:
    """How often the old task was done although the instruction asked for something else."""
    lines = []
    for each in comparisons:
        if [name for name, _ in each.perturbation.levels] != [CONTRADICTION]:
            continue
        told, otherwise = each.control, each.perturbed
        rate, bounds, n, _ = otherwise.texts()
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
