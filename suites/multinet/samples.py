"""From a row of each data set to a question; what is made of a row does not depend on where the row is from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, OPTION, TEXT

from . import prompts
from .parse import Ask
from .sample import Sample, Turn
from .scoring import JOINT_ACTIONS, SINGLE_ACTIONS, STAY_STAY

Row = Mapping[str, Any]
Draw = Callable[[], NDArray[np.uint8]]

#: Names of single actions in joint indices: a player's move, or what is done with what stands in front of him.
MOVES: Mapping[tuple[int, int], int] = {(0, -1): 0, (0, 1): 1, (1, 0): 2, (-1, 0): 3, (0, 0): 4}
INTERACT = 5
#: Under which name a step has its picture, and its words: the first that is there counts.
IMAGES = ("image_observation", "image", "hand_color_image", "agentview_rgb", "hand_image", "wrist_image", "rgb")
TEXTS = ("text_observation", "natural_language_instruction", "language_instruction", "action_instruct")
NO_STATE = ("act", "language", "image", "pointcloud", "rgb", "instruction")
"""Parts of the names of arrays that are no state."""


def openx_sample(task: str, row: Row, number: int) -> Sample:
    action = np.asarray(row["action"], np.float64)
    image = next((row[name] for name in IMAGES if name in row), None)
    text = _instruction(row)
    state = {
        name: np.asarray(value, np.float32)
        for name, value in row.items()
        if not any(word in name for word in NO_STATE) and _is_state(value)
    }
    return Sample(
        f"{row.get('episode', 0)}/{row.get('step', number)}",
        Ask(CONTINUOUS, len(action)),
        prompts.openx(task, text, len(action)),
        action,
        _drawer(image),
        state,
        question=text,
    )


def _instruction(row: Row) -> str:
    """The first text there is; tokens of some data sets are the bytes of a text, filled up with zeros."""
    tokens = row.get("instruction")
    if isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu":
        return bytes(int(token) for token in tokens.ravel() if 0 < token < 256).decode(errors="replace")
    return next((str(row[name]) for name in TEXTS if row.get(name)), "")


def _is_state(value: Any) -> bool:
    """A vector of finite numbers."""
    return (
        isinstance(value, np.ndarray) and value.ndim >= 1 and value.dtype.kind == "f" and bool(np.isfinite(value).all())
    )


def overcooked_sample(row: Row, number: int, draw: Draw | None = None) -> Sample:
    text = prompts.overcooked(
        str(row["layout_name"]), float(row.get("time_left") or 0), float(row.get("time_elapsed") or 0)
    )
    label = joint_action(row["joint_action"])
    return Sample(f"{row.get('trial_id', 0)}/{number}", Ask(DISCRETE, JOINT_ACTIONS), text, label, draw, question=text)


def joint_action(value: Any) -> int:
    """The number of two players' actions; what nobody knows counts as both staying, as in the benchmark."""
    actions = value
    if isinstance(value, str):
        try:
            actions = json.loads(value.replace("'", '"').replace("(", "[").replace(")", "]"))
        except ValueError:
            return STAY_STAY
    if not isinstance(actions, (list, tuple)) or len(actions) != 2:
        return STAY_STAY
    numbers = [_single_action(action) for action in actions]
    return STAY_STAY if None in numbers else SINGLE_ACTIONS * numbers[0] + numbers[1]  # type: ignore[operator]


def _single_action(action: Any) -> int | None:
    """Newer data spell it `interact`, older data `INTERACT`."""
    if isinstance(action, str):
        return INTERACT if action.lower() == "interact" else None
    return MOVES.get(tuple(action)) if isinstance(action, (list, tuple)) and len(action) == 2 else None


def piqa_sample(row: Row, number: int) -> Sample:
    goal, first, second = str(row["goal"]), str(row["sol1"]), str(row["sol2"])
    text = prompts.piqa(goal, first, second)
    return Sample(str(row.get("id", number)), Ask(OPTION, 2), text, int(row["label"]), question=text)


def sqa3d_sample(question: Row, annotation: Row, draw: Draw | None) -> Sample:
    text = prompts.sqa3d(str(question.get("situation") or ""), str(question["question"]))
    label = str(annotation["answers"][0]["answer"])
    return Sample(str(question["question_id"]), Ask(TEXT), text, label, draw, question=text)


def robovqa_sample(row: Row, number: int) -> Sample:
    """Only the last frame is shown."""
    frames = row.get("images")
    text = prompts.robovqa(str(row["raw_text_question"]))
    label = str(row["raw_text_answer"])
    return Sample(str(number), Ask(TEXT), text, label, _drawer(frames, last=True), question=text)


def odinw_sample(subset: str, names: Sequence[str], row: Row, number: int, draw: Draw) -> Sample:
    label = list(names).index(str(row["category_name"]))
    text = prompts.odinw(subset, names)
    return Sample(str(row.get("bbox_image", number)), Ask(OPTION, len(names)), text, label, draw, question=text)


def bfcl_sample(question: Row, answer: Row, signatures: Mapping[str, tuple[str, ...]] | None = None) -> Sample:
    """A conversation: one turn a user message, with the calls of the reference."""
    functions = tuple(dict.fromkeys(str(path).rpartition(".")[2] for path in question.get("path", ())))
    known = signatures or {}
    turns = []
    for messages, calls in zip(question["question"], answer["ground_truth"], strict=True):
        said = [str(message["content"]) for message in messages if message.get("role") == "user"]
        text = prompts.bfcl(said[-1] if said else "", functions, known)
        turns.append(Turn(text, tuple(map(str, calls))))
    label = [list(turn.label) for turn in turns]
    first = turns[0].instruction if turns else ""
    return Sample(str(question["id"]), Ask(CALL), first, label, turns=tuple(turns), signatures=known, question=first)


def _drawer(image: Any, last: bool = False) -> Draw | None:
    """Pictures may be arrays, or functions that make them."""
    if image is None:
        return None
    if callable(image):
        return lambda: _picture(image(), last)
    return lambda: _picture(image, last)


def _picture(image: Any, last: bool) -> NDArray[np.uint8]:
    array = np.asarray(image, np.uint8)
    return array[-1] if last and array.ndim == 4 else array
