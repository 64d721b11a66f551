"""What is said to the language model, and what is read out of its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .grid import HOME, NUMBERS, Code

MOST_ACTIONS = 26
LARGEST = 999  # in cells or bins: what is beyond is nonsense, and may be too large for a number

SYSTEM = (
    "You control a Panda robot arm with a parallel gripper. Each example shows an instruction, where the objects are, "
    "and after '>' the list of actions that does it. A place is three whole numbers from 0 to 99, in centimetres along "
    "x, y and z. An action is seven whole numbers: its place, the rotation about x, y and z in steps of 5 degrees "
    "(0 to 71), and 1 for an open or 0 for a closed gripper. Look at how the actions of the examples follow from their "
    "objects, and answer with the list of actions for the last instruction, and with nothing else."
)

Parsing = Literal["strict", "lenient"]
Message = dict[str, str]
_GROUP = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class Situation:
    """What is asked for, and in which cell each thing is."""

    instruction: str
    objects: Mapping[str, Code]

    def __str__(self) -> str:
        places = ", ".join(f"'{name}': {list(cell)}" for name, cell in self.objects.items())
        return f"['instruction': {self.instruction}, {{{places}}}]"


@dataclass(frozen=True, slots=True)
class Example:
    """A demonstration as text: a situation, and what was done."""

    situation: Situation
    actions: Sequence[Code]

    def __str__(self) -> str:
        return f"{self.situation}>{[list(action) for action in self.actions]}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The actions in an answer; `complaint` says what is wrong where they are not the model's own."""

    actions: list[Code]
    complaint: str = ""


def messages(examples: Sequence[Example], query: Situation) -> list[Message]:
    """The examples in their order, and the situation that has no actions yet."""
    user = "".join(f"{example}, " for example in examples) + f"{query}>"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]


def parsed(text: str, parsing: Parsing = "strict") -> Reply:
    """The actions in an answer. Whatever the answer is, there is something to do: to go home.

    `strict` is the published rule: one group that is not made of whole numbers spoils the answer. `lenient` leaves
    such groups out, and rounds numbers with a fraction.
    """
    actions: list[Code] = []
    for group in _GROUP.findall(text):
        if not any(sign.isdigit() for sign in group):
            continue
        action = _numbers(group, parsing)
        if action is None and parsing == "strict":
            return Reply([HOME] * MOST_ACTIONS, f"not whole numbers: [{group[:60]}]")
        if action is not None and len(action) == NUMBERS:
            actions.append(action)
    if not actions:
        return Reply([HOME], f"no action in {text[:60]!r}")
    return Reply(actions[:MOST_ACTIONS])


def _numbers(group: str, parsing: Parsing) -> Code | None:
    try:
        numbers = [float(part) for part in group.split(",")] if parsing == "lenient" else [*map(int, group.split(","))]
    except ValueError:
        return None
    if not all(abs(number) <= LARGEST for number in numbers):  # nan is not either
        return None
    return tuple(round(number) for number in numbers)
