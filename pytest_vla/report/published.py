"""A run beside what others have published of the same benchmark, where its suite knows it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from pytest_vla.registry import get_suite
from pytest_vla.report.order import ordered
from pytest_vla.run import Run, Tally
from pytest_vla.suite import Published, SuiteError

Cell = tuple[str, str]
"""A task and its partition."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Cells of a run of one suite of which there are published rates too, in the order of the suite."""

    suite: str
    published: Published
    cells: dict[Cell, Tally]

    @property
    def partitions(self) -> list[str]:
        return list(dict.fromkeys(partition for _, partition in self.cells))

    def chosen(self, partition: str = "") -> list[Cell]:
        """The cells of one partition, or all of them."""
        return [cell for cell in self.cells if partition in ("", cell[1])]

    def run_tally(self, partition: str = "") -> Tally:
        return sum((self.cells[cell] for cell in self.chosen(partition)), Tally())

    def run_mean(self, partition: str = "") -> float | None:
        """The mean of the run's rates, each task counting the same, as is published."""
        rates = [self.cells[cell].rate for cell in self.chosen(partition)]
        measured = [rate for rate in rates if rate is not None]
        return mean(measured) if measured else None

    def method_mean(self, method: str, partition: str = "") -> float | None:
        """The same of a method, over those of these tasks that it was run on."""
        rates = self.published.rates[method]
        found = [rates[cell] for cell in self.chosen(partition) if cell in rates]
        return mean(found) if found else None

    def below(self, partition: str = "") -> tuple[int, int]:
        """How many methods have a lower mean than the run, and how many have one at all."""
        mine = self.run_mean(partition)
        theirs = [self.method_mean(method, partition) for method in self.published.rates]
        known = [rate for rate in theirs if rate is not None]
        return sum(mine is not None and rate < mine for rate in known), len(known)


def published_beside(run: Run) -> list[Beside]:
    """For each suite of a run that has published results, what of it they speak about; perturbed episodes are not."""
    by_suite: dict[str, dict[Cell, Tally]] = {}
    for cell, tally in ordered(run.once.tallies()).items():
        if not cell.perturbation and tally.measured:
            by_suite.setdefault(cell.suite, {})[cell.task, cell.partition] = tally
    found = []
    for suite, tallies in by_suite.items():
        published = _published(suite)
        if published is not None:
            known = {cell for rates in published.rates.values() for cell in rates}
            shared = {cell: tally for cell, tally in tallies.items() if cell in known}
            if shared:
                found.append(Beside(suite, published, shared))
    return found


def published_lines(run: Run) -> list[str]:
    """The same in a few words, a line for each partition."""
    lines = []
    for beside in published_beside(run):
        known = beside.published
        lines += ["", f"{beside.suite} beside {len(known.rates)} published methods. {known.caveat}"]
        for partition in beside.partitions:
            mine, tasks, (lower, count) = beside.run_mean(partition), beside.chosen(partition), beside.below(partition)
            means = {method: beside.method_mean(method, partition) or 0.0 for method in known.rates}
            best = max(means, key=lambda method: means[method])
            lines.append(
                f"  {partition}, {len(tasks)} tasks: this run {_percent(mine)}, above {lower} of {count}; "
                f"the best is {best} with {_percent(means[best])}"
            )
    return lines


def _published(suite: str) -> Published | None:
    try:
        return get_suite(suite).published()
    except SuiteError:  # of a run that was made elsewhere
        return None


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f}%"
