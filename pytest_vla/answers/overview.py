"""What a person is told of answers: scores beside a constant answer's, by capability and by group, and the modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_vla.answers import format, knowledge, modality
from pytest_vla.answers.answer import Answer
from pytest_vla.answers.collected import Answers, read_answers
from pytest_vla.answers.estimates import Estimate, resampled
from pytest_vla.answers.modes import METRICS, MODES, Modes, measure
from pytest_vla.run import Run

NO_REFERENCE = "no reference: add --vla-reference=SPEC|RUN to see what was forgotten"
NOT_IDENTIFIABLE = "not identifiable: no better than a constant answer"


@dataclass(frozen=True)
class Scores:
    """One row: what the policy scores, by both parsers, and what the best constant answer scores."""

    name: str
    size: int
    strict: float
    interval: tuple[float, float]
    lenient: float
    trivial: float

    @property
    def better(self) -> bool:
        """Whether it is better than the constant answer for sure."""
        return self.interval[0] > self.trivial


@dataclass(frozen=True)
class Overview:
    """All of it."""

    size: int
    regimes: list[Scores]
    groups: list[Scores]
    modes: Modes
    reasons: Mapping[str, int]
    richness: list[format.Richness]
    matrix: dict[str, dict[str, int]]
    reliances: list[modality.Reliance]
    conflict: modality.Conflict | None
    instability: float | None
    consistency: float | None
    knowledge: knowledge.Knowledge | None

    def of_mode(self, mode: str) -> list[tuple[str, str, Estimate]]:
        """The numbers of one mode: name, what it is, and the estimate."""
        return [
            (name, metric.about, self.modes.estimates[name])
            for name, metric in METRICS.items()
            if metric.mode == mode and name in self.modes.estimates
        ]


_known: dict[tuple[str, int], Overview | None] = {}


def overview_of(run: Run) -> Overview | None:
    """What is to be said of a run's answers, worked out once; None where it has none."""
    key = str(run.path.absolute()), run.path.stat().st_size
    if key not in _known:
        _known.clear()
        answers = read_answers(run)
        _known[key] = overview(answers) if answers is not None and len(answers.plain) else None
    return _known[key]


def overview(answers: Answers) -> Overview:
    found = [modality.reliance(answers, name) for name in modality.ABLATIONS]
    return Overview(
        len(answers.plain),
        _scores(answers, lambda answer: answer.regime),
        _scores(answers, lambda answer: answer.group),
        measure(answers),
        format.reasons(answers),
        format.richness(answers),
        modality.matrix(answers),
        [one for one in found if one is not None],
        modality.conflict(answers),
        format.instability(answers),
        format.consistency(answers),
        knowledge.knowledge(answers),
    )


def _scores(answers: Answers, name_of: Callable[[Answer], str]) -> list[Scores]:
    import numpy as np

    plain = answers.plain
    names = np.array([name_of(answer) for answer in plain.answers.values()])
    strict, lenient, trivial = plain.column("strict"), plain.column("lenient"), plain.trivial
    rows = []
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        scores = strict[mine]
        mean = resampled(lambda weights, s=scores: float((weights * s).sum() / weights.sum()), len(scores))  # type: ignore[misc]
        assert mean is not None
        rows.append(
            Scores(
                name, len(scores), mean.value, mean.interval(), float(lenient[mine].mean()), float(trivial[mine].mean())
            )
        )
    return [row for row in rows if row.name]


def answer_lines(run: Run) -> list[str]:
    """The same as text, for the summary of a run; nothing where it was asked no questions."""
    found = overview_of(run)
    if found is None:
        return []
    lines = ["", f"answers: {found.size}; scores are 0..1, beside those of the best constant answer"]
    width = max(len(row.name) for row in [*found.regimes, *found.groups])
    lines.append(f"  {'':{width}}  strict    95% CI          lenient  constant      n")
    for rows in (found.groups, found.regimes):
        lines += [_row(row, width) for row in rows]
        lines.append("")
    for mode in MODES:
        lines.append(f"{mode}: {found.modes.named.get(mode, 'not shown')}")
        lines += [f"  {name} {told(estimate)}, {about}" for name, about, estimate in found.of_mode(mode)]
        lines += _more(found, mode)
    return lines


def _row(row: Scores, width: int) -> str:
    low, high = row.interval
    mark = "" if row.better else "  not better than constant"
    scores = f"{row.strict:.3f}   [{low:.3f}, {high:.3f}]  {row.lenient:.3f}    {row.trivial:.3f}"
    return f"  {row.name:{width}}  {scores}  {row.size:7}{mark}"


def _more(found: Overview, mode: str) -> list[str]:
    if mode == MODES[0]:
        why = ", ".join(f"{count} {reason}" for reason, count in found.reasons.items())
        return [f"  refused: {why}"] if why else []
    if mode == MODES[1]:
        lines = [
            f"  {one.modality}_reliance: {NOT_IDENTIFIABLE} ({one.size} samples)"
            for one in found.reliances
            if not one.identifiable
        ]
        if found.conflict is not None:
            told_by = found.conflict
            lines.append(
                f"  told otherwise than shown ({told_by.size}): follows words {told_by.text:.2f}, "
                f"picture {told_by.image:.2f}, neither {told_by.neither:.2f}"
            )
        return lines
    known = found.knowledge
    if known is None:
        return [f"  {NO_REFERENCE}"]
    lines = [
        f"  beside {known.reference}, {known.size} samples: {known.drop:+.3f} of the score is lost, "
        f"{known.knowledge_part:+.3f} as knowledge and {known.format_part:+.3f} as format",
        f"  {known.forgotten} forgotten, {known.gained} gained (McNemar p {known.pvalue:.2g})",
    ]
    if known.retention is None:
        lines.append("  retention: not identifiable, the reference is no better than a constant answer for sure")
    return lines


def told(estimate: Estimate) -> str:
    low, high = estimate.interval()
    return f"{estimate.value:.3f} [{low:.3f}, {high:.3f}] of {estimate.size}"
