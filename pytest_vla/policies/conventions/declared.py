"""The data: cameras, layouts of state and action, normalisation, wording and timing, as either side declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import permutations
from typing import Any

from pytest_vla.policies.errors import PolicyError
from pytest_vla.suggest import unknown

KINDS = {"position": 3, "rotation": 0, "gripper": 1, "joints": 0, "flag": 1, "other": 0}  # with their usual sizes
MODES = ("absolute", "delta")
FRAMES = ("base", "tool")
TURNS = ("none", "rotate180", "vertical", "horizontal")  # upside down and mirrored, upside down, mirrored
COLOURS = ("rgb", "bgr")
METHODS = ("mean_std", "min_max", "quantile")
CASES = ("as_is", "lower", "sentence")
STOPS = ("as_is", "none", "stop")
#: about the fixed axes in turn: `euler_xyz` turns about x first; capital letters turn about the body's own axes
EULER = tuple(f"euler_{''.join(axes)}" for letters in ("xyz", "XYZ") for axes in permutations(letters))
SIZES = {"quaternion_xyzw": 4, "quaternion_wxyz": 4, "axis_angle": 3, "rot6d": 6, **dict.fromkeys(EULER, 3)}
FORMS = tuple(SIZES)  # of rotations


def _one_of(what: str, value: str, known: Any) -> None:
    if value not in known:
        raise PolicyError(unknown(what, value, [*known]))


@dataclass(frozen=True, slots=True)
class Camera:
    """A picture. A suite says what it shows; a policy what it wants to be shown."""

    shows: str = ""  # the suite's camera; empty: the one of the same name, or of the same role
    role: str = ""  # `main`, `wrist`, `left`, `right`, ...
    size: tuple[int, int] | None = None  # height and width
    crop: float = 1.0  # the share of each side that is kept, about the middle
    turn: str = "none"  # how it is turned, seen from upright
    colours: str = "rgb"

    def __post_init__(self) -> None:
        _one_of("turn", self.turn, TURNS)
        _one_of("order of colours", self.colours, COLOURS)
        if not 0 < self.crop <= 1:
            raise PolicyError(f"a crop must be above 0 and at most 1, got {self.crop}")


@dataclass(frozen=True, slots=True)
class Part:
    """Some consecutive numbers of a state or an action.

    Args:
        kind: `position`, `rotation`, `gripper`, `joints`, `flag` or `other`.
        name: the key of the state that it stands in.
        size: how many numbers; follows from kind and form where it is 0.
        mode: of an action, whether it says where to go or how far from here.
        frame: of a delta, whose axes it is along.
        unit: what 1 stands for, in metres or radians.
        form: of a rotation.
        open: of a gripper, the number that opens it; `closed` the one that closes it.
        default: of a flag, what it is when the other side has none.
    """

    kind: str
    name: str = ""
    size: int = 0
    mode: str = "absolute"
    frame: str = "base"
    unit: float = 1.0
    form: str = ""
    closed: float = 0.0
    open: float = 1.0
    default: float = 0.0

    def __post_init__(self) -> None:
        _one_of("kind of part", self.kind, KINDS)
        _one_of("mode", self.mode, MODES)
        _one_of("frame", self.frame, FRAMES)
        if self.kind == "rotation":
            _one_of("rotation form", self.form, FORMS)
        size = SIZES[self.form] if self.kind == "rotation" else self.size or KINDS[self.kind]
        if size < 1:
            raise PolicyError(f"a part of kind {self.kind!r} needs its size")
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        """As a person says it."""
        match self.kind:
            case "gripper":
                return f"gripper {self.closed:g} closed, {self.open:g} open"
            case "rotation":
                unit = "" if self.unit == 1 else f" in units of {self.unit:g} rad"
                return f"{self.mode} rotation as {self.form}{unit}{self._frame}"
            case "position":
                unit = "m" if self.unit == 1 else f"units of {self.unit:g} m"
                return f"{self.mode} position in {unit}{self._frame}"
        return f"{self.kind} ({self.size})"

    @property
    def _frame(self) -> str:
        return " in the tool's axes" if self.frame == "tool" else ""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """How numbers of a policy become those of its layout: by statistics, of which there may be several by key.

    `mean_std` takes `low` as the mean and `high` as the deviation; the others map -1..1 to low..high. `done` is the key
    that the policy itself has already used, empty where it gives normalised numbers.
    """

    method: str
    key: str = ""
    statistics: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    done: str = ""

    def __post_init__(self) -> None:
        _one_of("normalisation", self.method, METHODS)
        if self.key and self.statistics:
            _one_of("normalisation key", self.key, self.statistics)


@dataclass(frozen=True, slots=True)
class Wording:
    """How an instruction is written: `{instruction}` in the template is where the sentence goes."""

    template: str = "{instruction}"
    case: str = "as_is"
    stop: str = "as_is"  # whether it ends with a full stop

    def __post_init__(self) -> None:
        _one_of("case", self.case, CASES)
        _one_of("ending", self.stop, STOPS)
        if "{instruction}" not in self.template:
            raise PolicyError(f"the wording {self.template!r} has no {{instruction}} in it")

    def __call__(self, text: str) -> str:
        text = text.strip() if self != Wording() else text
        if self.stop != "as_is":
            text = text.rstrip(".") + ("." if self.stop == "stop" else "")
        if self.case == "lower":
            text = text.lower()
        elif self.case == "sentence":
            text = text[:1].upper() + text[1:]
        return self.template.replace("{instruction}", text)


@dataclass(frozen=True, slots=True)
class Conventions:
    """All of one side. What is empty, or None, it does not say."""

    cameras: Mapping[str, Camera] = field(default_factory=dict)
    state: tuple[Part, ...] = ()
    action: tuple[Part, ...] = ()
    normalisation: Normalisation | None = None
    wording: Wording | None = None
    horizon: int | None = None  # actions of a chunk that are executed
    wait: int = 0  # steps at the start of an episode before the policy acts
    control_hz: float | None = None
    partial: bool = False  # whether `action` has only what differs: parts of other kinds are as the suite has them
    source: str = ""  # where this is known from

    def __bool__(self) -> bool:
        return self != Conventions()

    def to_dict(self) -> dict[str, Any]:
        """What differs from saying nothing, in built-in types."""
        empty = Conventions()
        return {
            item.name: _plain(getattr(self, item.name))
            for item in fields(self)
            if getattr(self, item.name) != getattr(empty, item.name)
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conventions:
        """The way back, and how a preset's file is read; PolicyError where a value is none of ours."""
        known = {item.name for item in fields(cls)}
        for name in data:
            if name not in known:
                raise PolicyError(unknown("convention", name, [*known]))
        made = dict(data)
        try:
            made["cameras"] = {
                name: Camera(**{**camera, "size": tuple(camera["size"]) if camera.get("size") else None})
                for name, camera in dict(data.get("cameras") or {}).items()
            }
            for name in ("state", "action"):
                made[name] = tuple(Part(**part) for part in data.get(name) or ())
            for name, kind in (("normalisation", Normalisation), ("wording", Wording)):
                made[name] = kind(**data[name]) if data.get(name) else None
        except TypeError as error:
            raise PolicyError(f"conventions cannot be read: {error}") from None
        return cls(**made)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (Camera, Part, Normalisation, Wording)):
        empty = {"kind": ""} if isinstance(value, Part) else {}
        return {k: _plain(v) for k, v in asdict(value).items() if k in empty or v not in (None, "", ())}
    return value
