"""One answer as the run file keeps it: what was asked for, what came, and what each parser read of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pytest_vla.answers.forms import OUTPUTS, misaligned
from pytest_vla.episode import Result, printable

FIELD = "answer"
"""Its name in a line of the run file."""
KEPT = 1000  # characters of the raw text

REASONS = (
    "empty",
    "too_long",
    "truncated",
    "wrong_type",
    "wrong_length",
    "out_of_range",
    "not_normalised",
    "not_finite",
    "extra_text",
    "refusal",
    "unknown_function",
)
"""Why the strict parser can refuse an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one sample, or one conversation, came to."""

    asked: str
    """One of OUTPUTS."""
    produced: str
    """The form of the raw text, of FORMS."""
    raw: str
    """Its beginning."""
    sha: str
    """Of the whole raw text."""
    invalid: str = ""
    """Why the strict parser refuses it, of REASONS; empty where it does not."""
    unread: str = ""
    """The same of the lenient parser."""
    strict: float = 0.0
    """The score, 0..1, by what the strict parser reads; an answer that it refuses has 0."""
    lenient: float = 0.0
    label: str = ""
    """The right answer as one text: equal labels are equal answers."""
    given: str = ""
    """What the lenient parser read, as one text."""
    other: str = ""
    """Where words and image were made to disagree: the answer that the words ask for."""
    group: str = ""
    """Samples of one group have one trivial baseline."""
    regime: str = ""
    """The capability that the sample is about."""
    trivial: float | None = None
    """What a constant answer would score here, where that does not follow from the labels."""
    needs: tuple[str, ...] = ()
    """The modalities without which nobody can tell: image, text."""

    def __post_init__(self) -> None:
        if self.asked not in OUTPUTS:
            raise ValueError(f"an answer is one of {', '.join(OUTPUTS)}, not {self.asked!r}")

    @property
    def valid(self) -> bool:
        return not self.invalid

    @property
    def readable(self) -> bool:
        return not self.unread

    @property
    def misaligned(self) -> bool:
        return misaligned(self.asked, self.produced, self.readable)

    def to_record(self) -> dict[str, Any]:
        """In built-in types, without what is not there."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, ())}

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> Answer:
        known = {name: data[name] for name in cls.__slots__ if name in data}
        return cls(**{"raw": "", "sha": "", **known, "needs": tuple(known.get("needs", ()))})


def kept(raw: str) -> tuple[str, str]:
    """The beginning of a raw text as a file can hold it, and the hash of all of it."""
    sha = hashlib.blake2b(raw.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return printable(raw[:KEPT]), sha


def answer_of(result: Result) -> Answer | None:
    """What a line of the run file says of an answer; None where the episode is about something else."""
    data = result.extra.get(FIELD)
    return Answer.from_record(data) if isinstance(data, Mapping) else None
