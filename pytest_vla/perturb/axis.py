"""What an axis is: one thing that can be off about an episode, in stated steps of one direction or of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_vla.perturb.actions import Actuator

    Rng = np.random.Generator
    ImageFilter = Callable[[NDArray[np.uint8]], NDArray[np.uint8]]
    TextFilter = Callable[[str], str]
    ActionFilter = Callable[[Any], Any]
    CamerasFilter = Callable[[Mapping[str, NDArray[np.uint8]]], Mapping[str, NDArray[np.uint8]]]
    StateFilter = Callable[[Any], Any]

MAX_LEVEL = 8
GROUPS = ("camera", "light", "appearance", "layout", "object", "robot", "sensor", "language")

Stage = Literal["scene", "image", "cameras", "state", "instruction", "action"]


class PerturbationError(ValueError):
    """A perturbation cannot be read, or does not fit the suite."""


class UnknownAxis(PerturbationError):
    """An axis has a name that nobody knows, or nobody yet: a suite may bring it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of perturbation. Level 0 is neutral; `magnitudes[level]` says how far off a level is, in `unit`.

    Levels are integers because searches shrink them towards 0, which must mean less. An ordered axis shrinks level by
    level; the levels of an unordered one are alternatives, and it only shrinks by being dropped.

    A `signed` axis has two directions, levels -8 to 8. `magnitudes` are those of the positive levels; level -3 is as
    far from neutral as level 3, on the other side, unless `below` has magnitudes of its own for the negative ones.
    A `control` changes what the episode asks for, so that failing is no fault: only its own name chooses it.

    `stage` says who applies it. A `scene` axis is applied by suites that know it, in their environment's reset. The
    others change one stream around any environment: `start` makes the filter of that stream for one episode. An `image`
    axis filters each camera's frames, a `cameras` axis those of all cameras together, a `state` axis each array.
    """

    name: str
    about: str
    unit: str
    magnitudes: tuple[Any, ...]
    ordered: bool = True
    stage: Stage = "scene"
    start: Callable[..., Any] | None = None
    signed: bool = False
    below: tuple[float, ...] = ()
    control: bool = False

    def __post_init__(self) -> None:
        if len(self.magnitudes) != MAX_LEVEL + 1:
            raise ValueError(f"axis '{self.name}' needs {MAX_LEVEL + 1} magnitudes, got {len(self.magnitudes)}")
        if self.group not in GROUPS:
            raise ValueError(f"axis '{self.name}' must be named GROUP.WHAT with a group of {', '.join(GROUPS)}")
        if (self.start is None) != (self.stage == "scene"):
            raise ValueError(f"axis '{self.name}': every stage but 'scene' needs a `start`, and 'scene' has none")
        if self.signed and not (self.ordered and all(isinstance(value, (int, float)) for value in self.magnitudes)):
            raise ValueError(f"axis '{self.name}': only ordered numbers have another direction")
        if self.below and not (self.signed and len(self.below) == MAX_LEVEL + 1):
            raise ValueError(f"axis '{self.name}': `below` has {MAX_LEVEL + 1} magnitudes, of a signed axis")

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    @property
    def lowest(self) -> int:
        """The furthest level in the other direction; 0 where there is none."""
        return -MAX_LEVEL if self.signed else 0

    @property
    def levels(self) -> tuple[int, ...]:
        """Every level but the neutral one, from the lowest to the highest."""
        return tuple(level for level in range(self.lowest, MAX_LEVEL + 1) if level)

    def value(self, level: int) -> Any:
        """The magnitude of a level, as a number or a name."""
        if level >= 0:
            return self.magnitudes[level]
        return self.below[-level] if self.below else round(2 * self.magnitudes[0] - self.magnitudes[-level], 9)

    def magnitude(self, level: int) -> str:
        """How far off a level is, for a person: `6 deg`."""
        value = self.value(level)
        text = f"{value:g}" if isinstance(value, (int, float)) else str(value)
        return f"{text} {self.unit}".rstrip()

    # One method per stage, so that each caller gets a filter of the right type.

    def image_filter(self, level: int, rng: Rng, camera: int = 0) -> ImageFilter:
        return self._started("image", level, rng, camera)  # type: ignore[no-any-return]

    def cameras_filter(self, level: int, rng: Rng) -> CamerasFilter:
        return self._started("cameras", level, rng)  # type: ignore[no-any-return]

    def state_filter(self, level: int, rng: Rng) -> StateFilter:
        return self._started("state", level, rng)  # type: ignore[no-any-return]

    def text_filter(self, level: int, rng: Rng) -> TextFilter:
        return self._started("instruction", level, rng)  # type: ignore[no-any-return]

    def action_filter(self, level: int, rng: Rng, actuator: Actuator) -> ActionFilter:
        return self._started("action", level, rng, actuator)  # type: ignore[no-any-return]

    def _started(self, stage: Stage, level: int, *context: Any) -> Any:
        assert self.start is not None
        assert self.stage == stage
        return self.start(self.value(level), *context)


def steps(step: float, start: float = 0.0) -> tuple[float, ...]:
    """Nine magnitudes, equally far apart: `start` is the neutral one."""
    return tuple(round(start + step * level, 9) for level in range(MAX_LEVEL + 1))
