"""The answers of a run by column, unperturbed ones first: all that is measured of them is a function of this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_vla.answers.answer import FIELD, Answer
from pytest_vla.episode import EpisodeKey
from pytest_vla.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Place = tuple[str, str, str, int]
"""Suite, task, partition and index of a sample."""
REFERENCE = "reference"
"""The type of the line that holds what a reference answered."""


@dataclass(frozen=True)
class Group:
    """Answers of one sort, by sample."""

    answers: Mapping[Place, Answer] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.answers)

    @cached_property
    def places(self) -> list[Place]:
        return list(self.answers)

    def column(self, name: str) -> NDArray[Any]:
        """One attribute of every answer."""
        import numpy as np

        return np.array([getattr(answer, name) for answer in self.answers.values()])

    @cached_property
    def trivial(self) -> NDArray[np.float64]:
        """What the best constant answer scores at each sample: the most common label of its group is right there."""
        import numpy as np

        counts: dict[str, dict[str, int]] = {}
        for answer in self.answers.values():
            labels = counts.setdefault(answer.group, {})
            labels[answer.label] = labels.get(answer.label, 0) + 1
        most = {group: max(labels, key=lambda label: labels[label]) for group, labels in counts.items()}
        scores = [
            float(answer.label == most[answer.group]) if answer.trivial is None else answer.trivial
            for answer in self.answers.values()
        ]
        return np.array(scores, np.float64)

    def only(self, places: Iterable[Place]) -> Group:
        return Group({place: self.answers[place] for place in places})

    def where(self, wanted: Any) -> Group:
        """The answers for which `wanted(answer)` is true."""
        return Group({place: answer for place, answer in self.answers.items() if wanted(answer)})


@dataclass(frozen=True)
class Answers:
    """What a run was answered: plainly, and under each perturbation; and what a reference answered to the same."""

    plain: Group
    perturbed: Mapping[str, Group] = field(default_factory=dict)
    reference: Group | None = None
    reference_policy: str = ""


def read_answers(run: Run) -> Answers | None:
    """The answers in a run, repeats aside; None where it has none."""
    if not any(b'"answer"' in line for line in _first_lines(run)):
        return None
    found: dict[str, dict[Place, Answer]] = {}
    for record in run.records():
        data = record.result.extra.get(FIELD)
        if isinstance(data, Mapping) and not record.key.repeat and record.measured:
            found.setdefault(record.key.perturbation, {})[place_of(record.key)] = Answer.from_record(data)
    if not found:
        return None
    reference, policy = _reference(run)
    plain = Group(found.pop("", {}))
    return Answers(plain, {name: Group(answers) for name, answers in found.items()}, reference, policy)


def place_of(key: EpisodeKey) -> Place:
    return key.suite, key.task, key.partition, key.index


def reference_line(reference: Run) -> dict[str, Any] | None:
    """What is kept of a reference's answers in the file of the run that is compared with it, if it has any."""
    answers = read_answers(reference)
    if answers is None:
        return None
    slim = ("asked", "produced", "invalid", "unread", "strict", "lenient", "label", "group", "trivial", "needs")
    kept = []
    for place, answer in answers.plain.answers.items():
        record = answer.to_record()
        kept.append([*place, {name: record[name] for name in slim if name in record}])
    return {"type": REFERENCE, "policy": reference.policy.text, "rows": kept}


def _reference(run: Run) -> tuple[Group | None, str]:
    lines = run.of_type(REFERENCE)
    if not lines:
        return None, ""
    rows = lines[-1]["rows"]
    group = Group({(str(s), str(t), str(p), int(i)): Answer.from_record(data) for s, t, p, i, data in rows})
    return group, str(lines[-1].get("policy", ""))


def _first_lines(run: Run) -> list[bytes]:
    """A look at the beginning: a run that has no answers there has none, and need not be read through."""
    with run.path.open("rb") as file:
        return [file.readline() for _ in range(200)]
