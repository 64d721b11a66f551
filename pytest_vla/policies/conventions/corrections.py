"""What a person may put right by `[tool.pytest_vla.conventions]`, one row each; the doctor tries these rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_vla.policies.conventions.declared import COLOURS, FORMS, MODES, TURNS, Camera, Conventions, Wording
from pytest_vla.policies.errors import PolicyError
from pytest_vla.suggest import unknown

WORDINGS = {
    "plain": Wording(case="lower", stop="none"),
    "sentence": Wording(case="sentence", stop="stop"),
    "question": Wording("In: What action should the robot take to {instruction}?\nOut:", "lower", "none"),
    "upper_task": Wording("Task: {instruction}", "sentence", "none"),
    "line": Wording("{instruction}\n", "lower", "none"),
}


@dataclass(frozen=True, slots=True)
class Correction:
    """One line of the table.

    Args:
        name: what one writes in pyproject.toml.
        help: what it is, in a few words.
        values: what it may be.
        fault: what was wrong where it helps.
        amend: the conventions of the policy with that value.
    """

    name: str
    help: str
    values: str
    fault: str
    amend: Callable[[Conventions, Any], Conventions]


def amended(said: Conventions, corrections: Mapping[str, Any]) -> Conventions:
    """The conventions of a policy after a person's corrections."""
    for name, value in corrections.items():
        said = _row(name).amend(said, value)
    return said


def check_corrections(table: Any, where: str = "[tool.pytest_vla.conventions]") -> dict[str, Any]:
    """Corrections as they are written, tried on nothing in particular: PolicyError where one cannot be meant."""
    if not isinstance(table, Mapping):
        raise PolicyError(f"{where} must be a table, got {table!r}")
    for name, value in table.items():
        try:
            _row(str(name)).amend(Conventions(), value)
        except PolicyError as error:
            raise PolicyError(f"{where}: {error}") from None
        except (TypeError, ValueError, AttributeError):
            raise PolicyError(f"{where}: {name} must be {_row(str(name)).values}, got {value!r}") from None
    return dict(table)


def fault_of(name: str, value: Any, written: Any = None) -> str:
    """What is wrong where a correction helps, in a few words, or with the value None where the written one harms."""
    return f"{name} is not {written}" if value is None else _row(name).fault.format(value=value)


def _row(name: str) -> Correction:
    if name not in CORRECTIONS:
        raise PolicyError(unknown("convention", name, [*CORRECTIONS]))
    return CORRECTIONS[name]


def markdown_table() -> str:
    """The table of docs/conventions.md."""
    rows = [f"| `{row.name}` | {row.help} | {row.values} |" for row in CORRECTIONS.values()]
    return "\n".join(["| name | what it says of the policy | values |", "|---|---|---|", *rows])


def _gripper(said: Conventions, value: Any) -> Conventions:
    if value not in (1, -1):
        raise ValueError(value)
    if value == 1:
        return said
    swapped = (
        replace(part, open=part.closed, closed=part.open) if part.kind == "gripper" else part for part in said.action
    )
    return replace(said, action=tuple(swapped))


def _turn(said: Conventions, value: Any) -> Conventions:
    """Of all cameras, or by camera."""
    wanted = dict(value) if isinstance(value, Mapping) else dict.fromkeys(said.cameras, value)
    for turn in wanted.values() if said.cameras else [value] if isinstance(value, str) else value.values():
        _known("turn", turn, TURNS)
    cameras = {
        name: replace(camera, turn=_turned(camera.turn, wanted[name])) if name in wanted else camera
        for name, camera in said.cameras.items()
    }
    return replace(said, cameras=cameras)


def _turned(before: str, by: str) -> str:
    bits = {"none": 0, "vertical": 1, "horizontal": 2, "rotate180": 3}
    return next(name for name, bit in bits.items() if bit == bits[before] ^ bits[by])


def _colours(said: Conventions, value: Any) -> Conventions:
    _known("order of colours", value, COLOURS)
    return replace(said, cameras={name: replace(camera, colours=value) for name, camera in said.cameras.items()})


def _crop(said: Conventions, value: Any) -> Conventions:
    share = float(value)
    if not 0 < share <= 1:
        raise ValueError(value)
    return replace(said, cameras={name: replace(camera, crop=share) for name, camera in said.cameras.items()})


def _cameras(said: Conventions, value: Any) -> Conventions:
    """By the policy's names; a camera that it does not know yet is added."""
    shows = {str(name): str(camera) for name, camera in value.items()}
    cameras = {name: replace(said.cameras.get(name, Camera()), shows=camera) for name, camera in shows.items()}
    return replace(said, cameras={**said.cameras, **cameras})


def _rotation(said: Conventions, value: Any) -> Conventions:
    return replace(said, action=_with_form(said.action, value))


def _state_rotation(said: Conventions, value: Any) -> Conventions:
    return replace(said, state=_with_form(said.state, value))


def _with_form(parts: Any, form: Any) -> Any:
    _known("rotation form", form, FORMS)
    return tuple(replace(part, form=form, size=0) if part.kind == "rotation" else part for part in parts)


def _actions(said: Conventions, value: Any) -> Conventions:
    _known("mode", value, MODES)
    moved = (replace(part, mode=value) if part.kind in ("position", "rotation") else part for part in said.action)
    return replace(said, action=tuple(moved))


def _scale(kind: str) -> Callable[[Conventions, Any], Conventions]:
    def amend(said: Conventions, value: Any) -> Conventions:
        factor = float(value)
        if not (factor > 0 and factor < float("inf")):
            raise ValueError(value)
        scaled = (replace(part, unit=part.unit * factor) if part.kind == kind else part for part in said.action)
        return replace(said, action=tuple(scaled))

    return amend


def _normalisation(said: Conventions, value: Any) -> Conventions:
    if said.normalisation is None:
        if not isinstance(value, str):
            raise ValueError(value)
        return said
    return replace(said, normalisation=replace(said.normalisation, key=str(value)))


def _wording(said: Conventions, value: Any) -> Conventions:
    if value not in WORDINGS and "{instruction}" not in str(value):
        raise PolicyError(f"{unknown('wording', str(value), [*WORDINGS])}, or a text with {{instruction}} in it")
    return replace(said, wording=WORDINGS.get(value) or Wording(value))


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(value)
        return value

    return read


def _known(what: str, value: Any, known: Any) -> None:
    if value not in known:
        raise PolicyError(unknown(what, str(value), [*known]))


_rows = (
    Correction(
        "gripper", "which way its gripper goes: -1 is the other way round", "1 or -1", "gripper flipped", _gripper
    ),
    Correction(
        "turn",
        "how its pictures are turned against those of the suite, of all cameras or by camera",
        f"one of {', '.join(TURNS)}, or a table by camera",
        "image turned ({value})",
        _turn,
    ),
    Correction("colours", "the order of its colours", "rgb or bgr", "red and blue exchanged", _colours),
    Correction(
        "crop",
        "the share of each side of a picture that it sees, about the middle",
        "above 0, up to 1",
        "image not cropped",
        _crop,
    ),
    Correction(
        "cameras",
        "which camera of the suite each of its own shows",
        "a table: ITS_NAME = OURS",
        "cameras exchanged",
        _cameras,
    ),
    Correction(
        "rotation",
        "the form of the rotations in its actions",
        f"one of {', '.join(FORMS)}",
        "rotations are {value}",
        _rotation,
    ),
    Correction(
        "state_rotation",
        "the form of the rotations in its state",
        f"one of {', '.join(FORMS)}",
        "rotations of the state are {value}",
        _state_rotation,
    ),
    Correction(
        "actions",
        "whether its actions say where to go or how far from here",
        "absolute or delta",
        "actions are {value}",
        _actions,
    ),
    Correction(
        "scale",
        "what 1 of its positions is, in units of the suite's",
        "a number above 0",
        "positions are off by a factor ({value:g})",
        _scale("position"),
    ),
    Correction(
        "rotation_scale",
        "what 1 of its angles is, in units of the suite's",
        "a number above 0",
        "angles are off by a factor ({value:g})",
        _scale("rotation"),
    ),
    Correction(
        "normalisation",
        "the key of the statistics for its actions",
        "a key that it has",
        "normalised by the wrong key",
        _normalisation,
    ),
    Correction(
        "wording",
        "how it is told what to do",
        f"one of {', '.join(WORDINGS)}, or a text with {{instruction}}",
        "instruction worded otherwise",
        _wording,
    ),
    Correction(
        "horizon",
        "how many actions of a chunk are executed",
        "a whole number, 1 or more",
        "another part of each chunk is executed",
        lambda said, value: replace(said, horizon=_whole(1)(value)),
    ),
    Correction(
        "wait",
        "steps at the start of an episode before it acts",
        "a whole number, 0 or more",
        "it acts before the scene has settled",
        lambda said, value: replace(said, wait=_whole(0)(value)),
    ),
)
CORRECTIONS: dict[str, Correction] = {row.name: row for row in _rows}
