"""Format instability: answers that cannot be read, that stop being readable in other words, or that say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

from pytest_vla.answers.collected import Answers, Group
from pytest_vla.answers.estimates import Estimate, resampled, share
from pytest_vla.answers.forms import TEXT

REWORDED = ("language.",)
NOT_REWORDED = ("language.empty", "language.contradict")  # they take the question away, or turn it into another one
ENOUGH = 30  # answers of which one can say that they are all alike
DULL = 0.1  # of the labels' entropy
DEGENERATE = 0.5  # of the tokens of an answer are repetitions


@dataclass(frozen=True)
class Richness:
    """How different the valid answers of one group are."""

    group: str
    size: int
    unique: float
    degeneracy: float
    entropy: float
    label_entropy: float

    @property
    def vacuous(self) -> bool:
        """Whether the policy says one and the same, or babbles, however valid that is."""
        dull = self.label_entropy >= 1 and self.entropy < DULL * self.label_entropy
        return self.size >= ENOUGH and (dull or self.degeneracy > DEGENERATE)


def invalid_rate(answers: Answers) -> Estimate | None:
    """Answers that the strict parser refuses."""
    return share([not answer.valid for answer in answers.plain.answers.values()])


def unstable_rate(answers: Answers) -> Estimate | None:
    """The same without those of another type than was asked for: they are a failure of another kind."""
    return share([not answer.valid and not answer.misaligned for answer in answers.plain.answers.values()])


def parser_gap(answers: Answers) -> Estimate | None:
    """How much better the answers are when they are read leniently."""
    gain = answers.plain.column("lenient") - answers.plain.column("strict") if len(answers.plain) else None
    if gain is None:
        return None
    return resampled(lambda weights: float((weights * gain).sum() / weights.sum()), len(gain))


def flip_rate(answers: Answers) -> Estimate | None:
    """Samples whose answer is valid in some wordings and not in others; None where there was only one wording."""
    flips = []
    for place, answer in answers.plain.answers.items():
        others = [group.answers[place].valid for _, group in reworded(answers) if place in group.answers]
        if others:
            flips.append(any(valid != answer.valid for valid in others))
    return share(flips)


def consistency(answers: Answers) -> float | None:
    """The mean share of wordings in which the most common valid answer was given."""
    shares = []
    for place, answer in answers.plain.answers.items():
        given = [answer, *(group.answers[place] for _, group in reworded(answers) if place in group.answers)]
        valid = Counter(one.given for one in given if one.valid)
        if len(given) > 1 and valid:
            shares.append(valid.most_common(1)[0][1] / len(given))
    return sum(shares) / len(shares) if shares else None


def reworded(answers: Answers) -> Iterable[tuple[str, Group]]:
    """The runs in which the same was asked in other words, and nothing else was changed."""
    for name, group in answers.perturbed.items():
        axes = [part.partition("=")[0] for part in name.split(",")]
        if all(axis.startswith(REWORDED) and axis not in NOT_REWORDED for axis in axes):
            yield name, group


def reasons(answers: Answers) -> Mapping[str, int]:
    """How often the strict parser refuses an answer for which reason, the most common first."""
    return dict(Counter(answer.invalid for answer in answers.plain.answers.values() if answer.invalid).most_common())


def instability(answers: Answers) -> float | None:
    """0 where every answer is valid in every wording, 1 where none is."""
    invalid, flips = invalid_rate(answers), flip_rate(answers)
    if invalid is None:
        return None
    return invalid.value + (1 - invalid.value) * (flips.value if flips is not None else 0.0)


def richness(answers: Answers) -> list[Richness]:
    """Of every group that is answered in words."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for answer in answers.plain.answers.values():
        if answer.asked == TEXT and answer.valid:
            groups.setdefault(answer.group, []).append((answer.given, answer.raw, answer.label))
    found = []
    for group, rows in groups.items():
        given = [one for one, _, _ in rows]
        found.append(
            Richness(
                group,
                len(rows),
                len(set(given)) / len(rows),
                sum(_repetition(raw) for _, raw, _ in rows) / len(rows),
                _entropy(given),
                _entropy([label for _, _, label in rows]),
            )
        )
    return found


def vacuous(answers: Answers) -> list[str]:
    return [one.group for one in richness(answers) if one.vacuous]


def _repetition(text: str) -> float:
    tokens = text.lower().split()
    return 1 - len(set(tokens)) / len(tokens) if tokens else 0.0


def _entropy(values: list[str]) -> float:
    """In bits."""
    total = len(values)
    return -sum(count / total * log2(count / total) for count in Counter(values).values()) if total else 0.0
