"""More than two policies on the same episodes: who is proven better than whom, who may be first, and by how much.

All differences of two policies that a ranking shows lie in their intervals at once, at the stated confidence: pairs,
levels and perturbations share one chance of error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import GateError
from pytest_vla.run import Run, Tally, Why, pair
from pytest_vla.run.table import ERROR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Outcomes = NDArray[np.bool_]
    """A row for each policy, a column for each episode: solved or not."""
    Floats = NDArray[np.float64]

CONFIDENCE = 0.95
ALL = "all"
FIRST_ELO, ELO_PER_DECADE = 1000, 400
UNDECIDED_DUELS = 0.5
"""Added to both sides of every duel: who never lost has a finite rating too."""


@dataclass(frozen=True)
class Differences:
    """Success of one policy minus that of another, for all of them, with simultaneous intervals."""

    effect: Floats
    low: Floats
    high: Floats

    def better(self) -> NDArray[np.bool_]:
        """Whether the policy of a row is proven better than that of a column."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one policy stands."""

    name: str
    tally: Tally
    first_rank: int
    """One more than the policies that are proven better."""
    last_rank: int
    elo: float

    @property
    def may_be_first(self) -> bool:
        return self.first_rank == 1

    @property
    def ranks(self) -> str:
        return str(self.first_rank) if self.first_rank == self.last_rank else f"{self.first_rank}-{self.last_rank}"


@dataclass(frozen=True)
class Ranking:
    """The policies over the episodes of one section, in the order of the runs."""

    section: str
    episodes: int
    standings: tuple[Standing, ...]
    differences: Differences

    def best_first(self) -> list[Standing]:
        return sorted(self.standings, key=lambda standing: (-(standing.tally.rate or 0.0), -standing.elo))


@dataclass(frozen=True)
class Rankings:
    """All that is shown together: the whole first, then levels and perturbations."""

    names: tuple[str, ...]
    rankings: tuple[Ranking, ...]
    left_out: Counter[str]
    """Episodes that not all runs share, by reason."""
    remarks: tuple[str, ...]
    confidence: float = CONFIDENCE

    @property
    def whole(self) -> Ranking:
        return self.rankings[0]


def rank(runs: Sequence[Run], names: Sequence[str], confidence: float = CONFIDENCE) -> Rankings:
    """Rank policies by the episodes that all of their runs have; GateError where they share none."""
    if len(runs) < 2:
        raise GateError("rank needs two runs or more: pytest-vla rank A B C")
    cells, outcomes, left_out = shared(runs)
    sections = sections_of(cells)
    error = _shares(len(sections), 1 - confidence)
    rankings = tuple(
        ranked(name, names, outcomes[:, rows], share)
        for (name, rows), share in zip(sections.items(), error, strict=True)
    )
    return Rankings(tuple(names), rankings, left_out, tuple(_remarks(runs, names)), confidence)


def _shares(sections: int, error: float) -> list[float]:
    """Half of the chance of error for the whole, the rest evenly for what it is made of."""
    return [error] if sections == 1 else [error / 2, *[error / 2 / (sections - 1)] * (sections - 1)]


def shared(runs: Sequence[Run]) -> tuple[list[Cell], Outcomes, Counter[str]]:
    """The cell and the outcomes of every episode that pairs in all runs, and how many do not, and why."""
    import numpy as np

    first = runs[0].table.once()
    pairs = [pair(run.table, first) for run in runs[1:]]
    common = np.flatnonzero(first.outcome != ERROR)
    for each in pairs:
        common = np.intersect1d(common, each.old_rows)
    left_out: Counter[str] = Counter()
    for each in pairs:
        for why, count in each.why().items():
            reason = "not in all runs" if why in (Why.ONLY_NEW, Why.ONLY_OLD) else why.value
            left_out[reason] = max(left_out[reason], count)
    if not len(common):
        reasons = ", ".join(f"{why}: {count}" for why, count in left_out.items())
        raise GateError(f"these runs share no episode that could be ranked ({reasons or 'they are all errors'})")
    rows = [first.solved[common]]
    for each in pairs:
        order = np.argsort(each.old_rows)
        places = order[np.searchsorted(each.old_rows, common, sorter=order)]
        rows.append(each.after[places])
    return [first.cells[number] for number in first.cell[common].tolist()], np.stack(rows), left_out


def sections_of(cells: Sequence[Cell]) -> dict[str, Any]:
    """Episodes by what they are shown under: everything unperturbed, each level of it, each group of perturbations."""
    import numpy as np

    plain = np.array([not cell.perturbation for cell in cells])
    sections = {ALL: plain if plain.any() else ~plain}
    unperturbed = [cell for cell in cells if not cell.perturbation]
    suites = dict.fromkeys(cell.suite for cell in unperturbed)
    for suite in suites:
        levels = dict.fromkeys(cell.partition for cell in unperturbed if cell.suite == suite)
        if len(suites) > 1:
            sections[suite] = _chosen(cells, lambda c, s=suite: c.suite == s and not c.perturbation)
        for partition in levels if len(levels) > 1 else ():
            sections[f"{suite}/{partition}"] = _chosen(cells, lambda c, s=suite, p=partition: c == (s, c.task, p, ""))
    for group in dict.fromkeys(group for cell in cells for group in perturbed_groups(cell)):
        sections[f"perturbed: {group}"] = _chosen(cells, lambda cell, group=group: group in perturbed_groups(cell))
    return sections


def perturbed_groups(cell: Cell) -> list[str]:
    """`camera` and `light` of `camera.yaw=3,light.shadow=2`."""
    axes = filter(None, cell.perturbation.split(","))
    return list(dict.fromkeys(axis.partition("=")[0].partition(".")[0] for axis in axes))


def _chosen(cells: Sequence[Cell], wanted: Callable[..., bool]) -> NDArray[np.bool_]:
    import numpy as np

    return np.array([wanted(cell) for cell in cells], dtype=bool)


def ranked(section: str, names: Sequence[str], outcomes: Outcomes, error: float) -> Ranking:
    """One section; `error` is the chance that any of its intervals may be wrong with."""
    count = outcomes.shape[1]
    differences = simultaneous(outcomes, error)
    better = differences.better()
    ratings = elo(outcomes)
    standings = tuple(
        Standing(
            name,
            Tally(int(outcomes[place].sum()), count),
            1 + int(better[:, place].sum()),
            len(names) - int(better[place].sum()),
            float(ratings[place]),
        )
        for place, name in enumerate(names)
    )
    return Ranking(section, count, standings, differences)


def simultaneous(outcomes: Outcomes, error: float) -> Differences:
    """All differences of two policies, paired by episode, with intervals that all hold at once."""
    import numpy as np

    solved = outcomes.astype(np.float64)
    count = solved.shape[1]
    wins = solved @ (1 - solved).T  # solved by the policy of the row and not by that of the column
    high = score_bound(wins, wins.T, count, reach_of(len(solved), count, error))
    np.fill_diagonal(high, 0.0)
    return Differences((wins - wins.T) / count, -high.T, high)


def score_bound(won: Floats, lost: Floats, count: int, reach: float) -> Floats:
    """The upper end of Tango's score interval of paired differences: it holds where few or one-sided duels were seen.

    The largest difference that what was seen is no more than `reach` standard deviations below.
    """
    import numpy as np

    low, high = (won - lost) / count, np.ones_like(won)
    for _ in range(50):
        middle = (low + high) / 2
        # The likeliest share of lost duels if the true difference is `middle`.
        linear = (2 * count - won + lost) * middle - won - lost
        share = (np.sqrt(np.maximum(linear**2 + 8 * count * lost * middle * (1 - middle), 0)) - linear) / (4 * count)
        variance = np.maximum(count * (2 * share + middle * (1 - middle)), 1e-300)
        inside = (count * middle - won + lost) / np.sqrt(variance) <= reach
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray(high)


def reach_of(policies: int, count: int, error: float) -> float:
    """How far an interval reaches so that those of all pairs hold at once (Bonferroni); further with few episodes."""
    from scipy.stats import t

    return float(t.ppf(1 - error / (policies * (policies - 1)), max(count - 1, 1)))


def elo(outcomes: Outcomes) -> Floats:
    """Bradley and Terry's ratings: each episode that one solves and another does not is a duel won."""
    import numpy as np

    solved = outcomes.astype(np.float64)
    wins = solved @ (1 - solved).T + UNDECIDED_DUELS
    np.fill_diagonal(wins, 0.0)
    duels = wins + wins.T
    strength = np.ones(len(wins))
    for _ in range(1000):
        against = duels / (strength[:, None] + strength[None, :])
        np.fill_diagonal(against, 0.0)
        new = wins.sum(axis=1) / against.sum(axis=1)
        new /= np.exp(np.log(new).mean())
        done = np.abs(np.log(new / strength)).max() < 1e-10
        strength = new
        if done:
            break
    return np.asarray(FIRST_ELO + ELO_PER_DECADE * np.log10(strength))


def _remarks(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    early = [name for name, run in zip(names, runs, strict=True) if run.stopped_early]
    unfinished = [name for name, run in zip(names, runs, strict=True) if not run.completeness(gated=False).finished]
    remarks = []
    if early:
        remarks.append(f"stopped early by their own results, so that intervals may be too narrow: {', '.join(early)}")
    if unfinished:
        remarks.append(f"not finished, and what is missing is in no rank: {', '.join(unfinished)}")
    return remarks
