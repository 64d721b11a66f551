"""What a policy answered: scores beside a constant answer's, and the three failure modes with what shows them."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.answers.forms import FITTING, FORMS
from pytest_vla.answers.modes import MODES
from pytest_vla.answers.overview import NO_REFERENCE, NOT_IDENTIFIABLE, Overview, Scores, overview_of, told
from pytest_vla.report.html.page import Page


@dataclass(frozen=True, slots=True)
class Mode:
    """One failure mode: whether it is shown, its numbers, and what else there is to say."""

    name: str
    shown: str
    """Why it is named; empty where it is not."""
    numbers: list[tuple[str, str, str]]
    remarks: list[str]


@dataclass(frozen=True, slots=True)
class MatrixCell:
    count: int
    share: float
    fits: bool


@dataclass(frozen=True, slots=True)
class AnswersView:
    """The part of the page about answers."""

    size: int
    tables: list[tuple[str, list[Scores]]]
    modes: list[Mode]
    forms: list[str]
    matrix: list[tuple[str, list[MatrixCell]]]


def answers_view(page: Page) -> AnswersView | None:
    """None where no questions were asked."""
    found = overview_of(page.run)
    if found is None:
        return None
    forms = [form for form in FORMS if any(form in row for row in found.matrix.values())]
    return AnswersView(
        found.size,
        [("capability", found.regimes), ("task", found.groups)],
        [_mode(found, name) for name in MODES],
        forms,
        [(asked, [_cell(asked, form, row) for form in forms]) for asked, row in found.matrix.items()],
    )


def _cell(asked: str, form: str, row: dict[str, int]) -> MatrixCell:
    count = row.get(form, 0)
    return MatrixCell(count, count / sum(row.values()), form in FITTING[asked])


def _mode(found: Overview, name: str) -> Mode:
    numbers = [(metric, about, told(estimate)) for metric, about, estimate in found.of_mode(name)]
    return Mode(name, found.modes.named.get(name, ""), numbers, _remarks(found, name))


def _remarks(found: Overview, name: str) -> list[str]:
    if name == MODES[0]:
        lines = [f"{count} refused: {reason.replace('_', ' ')}" for reason, count in found.reasons.items()]
        lines += [
            f"{one.group}: {100 * one.unique:.0f}% of the answers differ, {one.entropy:.2f} bits "
            f"(labels {one.label_entropy:.2f})"
            for one in found.richness
        ]
        return lines
    if name == MODES[1]:
        lines = [f"{one.modality} reliance: {NOT_IDENTIFIABLE}" for one in found.reliances if not one.identifiable]
        if found.conflict is not None:
            lines.append(
                f"told otherwise than shown: by the words {found.conflict.text:.0%}, by the picture "
                f"{found.conflict.image:.0%}"
            )
        return lines
    known = found.knowledge
    if known is None:
        return [NO_REFERENCE]
    return [
        f"beside {known.reference}, {known.size} samples: {known.drop:+.3f} of the score lost, "
        f"{known.knowledge_part:+.3f} as knowledge, {known.format_part:+.3f} as format",
        f"{known.forgotten} forgotten, {known.gained} gained, McNemar p {known.pvalue:.2g}",
    ]
