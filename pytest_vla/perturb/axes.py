"""The registry: every axis there is, in canonical order. A new axis is one entry here, or in `own_axes` of a suite.

A `scene` axis also needs an entry in the axes file of each suite that supports it; the others work in every suite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_vla.perturb import actions, images, language, states, vocabulary
from pytest_vla.perturb.axis import MAX_LEVEL, Axis, PerturbationError, UnknownAxis, steps
from pytest_vla.suggest import unknown

COLOURS: Mapping[str, tuple[float, float, float]] = {
    "red": (0.8, 0.15, 0.15),
    "orange": (0.9, 0.5, 0.1),
    "yellow": (0.85, 0.8, 0.2),
    "green": (0.2, 0.6, 0.25),
    "cyan": (0.2, 0.7, 0.75),
    "blue": (0.15, 0.3, 0.8),
    "purple": (0.55, 0.25, 0.7),
    "white": (0.95, 0.95, 0.95),
}
_COLOURS = ("as is", *COLOURS)
_OTHERS = tuple(range(MAX_LEVEL + 1))
_OF_EIGHT = "of 8 alternatives"
NEARER = steps(-0.025, 1)
"""Small steps: what the task is about should stay in view."""

_AXES = (
    # --- camera: every camera that does not move with the robot -----------------------------------------------------
    Axis("camera.shift", "moved sideways", "m", steps(0.01), signed=True),
    Axis("camera.lift", "moved up", "m", steps(0.01), signed=True),
    Axis(
        *("camera.distance", "moved away from what it looks at", "times as far", steps(0.125, 1)),
        signed=True,
        below=NEARER,
    ),
    Axis("camera.yaw", "turned about the vertical through the scene", "deg", steps(2), signed=True),
    Axis("camera.orbit", "the same, in steps that go far round", "deg", steps(9.375), signed=True),
    Axis("camera.pitch", "tilted about the scene", "deg", steps(2), signed=True),
    Axis("camera.roll", "turned about its own line of sight", "deg", steps(2), signed=True),
    Axis("camera.fov", "a wider lens", "times the field of view", steps(0.05, 1), signed=True, below=NEARER),
    # --- light ------------------------------------------------------------------------------------------------------
    Axis("light.direction", "comes from elsewhere, turned about the vertical", "deg", steps(20), signed=True),
    Axis("light.brightness", "dimmed", "times as bright", steps(-0.08, 1), signed=True),
    Axis("light.colour", "warmer: less blue, below 0 less red", "of the colour gone", steps(0.1), signed=True),
    Axis("light.shadow", "harder: ambient light becomes directed light", "of the ambient light", steps(0.1)),
    # --- appearance -------------------------------------------------------------------------------------------------
    Axis("appearance.table_colour", "another colour of the table", "", _COLOURS, ordered=False),
    Axis("appearance.table_texture", "another texture of the table", _OF_EIGHT, _OTHERS, ordered=False),
    Axis("appearance.object_colour", "another colour of things", "", _COLOURS, ordered=False),
    Axis("appearance.object_texture", "another texture of things", _OF_EIGHT, _OTHERS, ordered=False),
    Axis("appearance.background", "another texture of what is around the table", _OF_EIGHT, _OTHERS, ordered=False),
    Axis("appearance.reflectivity", "shinier surfaces", "specular", steps(0.1)),
    # --- layout -----------------------------------------------------------------------------------------------------
    Axis("layout.objects", "things start elsewhere, each in a direction of its own", "m", steps(0.005)),
    Axis("layout.objects_far", "the same, in steps that go far", "m", steps(0.01875)),
    Axis("layout.manipulated", "only what is to be moved starts elsewhere", "m", steps(0.005)),
    Axis("layout.distractors", "things that have no part in the task", "more things", steps(1)),
    Axis("layout.distractor_place", "where such a thing stands (one at least)", _OF_EIGHT, _OTHERS, ordered=False),
    Axis("layout.lookalikes", "things that look much like one that is to be moved", "more things", steps(1)),
    Axis("layout.receiver", "what takes things up is elsewhere, and the goal with it", "m", steps(0.005)),
    Axis("layout.disturbance", "a thing is pushed after the episode has begun", "m", steps(0.005)),
    # --- object -----------------------------------------------------------------------------------------------------
    Axis("object.scale", "larger things", "times the size", steps(0.02, 1), signed=True),
    Axis("object.mass", "heavier things", "times the mass", steps(0.25, 1), signed=True, below=steps(-0.0875, 1)),
    Axis("object.friction", "slipperier things", "times the friction", steps(-0.075, 1), signed=True),
    # --- robot ------------------------------------------------------------------------------------------------------
    Axis("robot.start", "starts elsewhere", "m", steps(0.01)),
    Axis("robot.action_noise", "imprecise", "of the range (sigma)", steps(0.0005), stage="action", start=actions.noise),
    Axis(
        *("robot.action_gain", "goes too far", "times as far from the middle of the range", steps(0.0025, 1)),
        stage="action",
        start=actions.gain,
        signed=True,
    ),
    Axis("robot.action_bias", "goes beside", "of the range", steps(0.00125), stage="action", start=actions.bias),
    Axis(
        *("robot.rate", "asked less often: an action lasts longer", "times as long", steps(0.125, 1)),
        signed=True,
        below=steps(-0.0375, 1),
    ),
    Axis("robot.delay", "slow to obey", "steps late", steps(0.5), stage="action", start=actions.delay),
    Axis("robot.dropped_actions", "actions are lost", "chance", steps(0.03), stage="action", start=actions.dropped),
    Axis("robot.state_noise", "unsteady joints", "m or rad (sigma)", steps(0.0025), stage="state", start=states.noise),
    Axis("robot.state_bias", "joints set wrong", "m or rad", steps(0.0025), stage="state", start=states.bias),
    # --- sensor -----------------------------------------------------------------------------------------------------
    Axis(
        *("sensor.brightness", "overexposed", "of the range", steps(0.05)),
        stage="image",
        start=images.brightness,
        signed=True,
    ),
    Axis(
        *("sensor.contrast", "flat", "times the contrast", steps(-0.1, 1)),
        stage="image",
        start=images.contrast,
        signed=True,
    ),
    Axis(
        *("sensor.colour_balance", "white set wrong", "gain", steps(0.06)),
        stage="image",
        start=images.colour_balance,
        signed=True,
    ),
    Axis("sensor.noise", "grainy", "grey values (sigma)", steps(5), stage="image", start=images.noise),
    Axis("sensor.blur", "out of focus", "px of 256 (sigma)", steps(0.4), stage="image", start=images.blur),
    Axis("sensor.motion_blur", "smeared", "px of 256", steps(2), stage="image", start=images.motion_blur),
    Axis("sensor.zoom", "enlarged", "times", steps(0.06, 1), stage="image", start=images.zoom),
    Axis("sensor.fog", "misty", "of the view", steps(0.08), stage="image", start=images.fog),
    Axis("sensor.glass", "behind frosted glass", "px of 256 (sigma)", steps(0.35), stage="image", start=images.glass),
    Axis(
        *("sensor.jpeg", "compressed", "JPEG quality", (100, 50, 35, 25, 18, 13, 9, 6, 4)),
        stage="image",
        start=images.jpeg,
    ),
    Axis(
        "sensor.patch",
        "a grey square over what shows least",
        "of the area",
        steps(0.03),
        stage="image",
        start=images.patch,
    ),
    Axis("sensor.dropped_frames", "frames stand", "chance", steps(0.08), stage="image", start=images.dropped_frames),
    Axis(
        *("sensor.camera_loss", "one camera is black", "of 8 frames", _OTHERS),
        stage="cameras",
        start=images.camera_loss,
    ),
    # --- language ---------------------------------------------------------------------------------------------------
    Axis(
        *("language.paraphrase", "the same in other words", "", language.PARAPHRASES, False),
        stage="instruction",
        start=language.paraphrase,
    ),
    Axis(
        *("language.synonyms", "other nouns of the same meaning", _OF_EIGHT, _OTHERS, False),
        stage="instruction",
        start=vocabulary.synonyms,
    ),
    Axis(
        *("language.negation", "the same with a not in it", "", language.NEGATIONS, False),
        stage="instruction",
        start=language.negation,
    ),
    Axis(
        *("language.translation", "word by word in another language", "", vocabulary.TRANSLATIONS, False),
        stage="instruction",
        start=vocabulary.translation,
    ),
    Axis("language.typos", "mistyped words", "of the words", steps(0.125), stage="instruction", start=language.typos),
    Axis("language.case", "letter case", "", language.CASES, False, stage="instruction", start=language.case),
    Axis(
        *("language.clause", "a clause without meaning for the task", "", language.CLAUSES, False),
        stage="instruction",
        start=language.clause,
    ),
    Axis(
        "language.shuffle", "words in disorder", "of words", steps(0.125), stage="instruction", start=language.shuffle
    ),
    Axis(
        *("language.omit", "words missing; 8: all but one", "of words", steps(0.125)),
        stage="instruction",
        start=language.omit,
    ),
    Axis(
        *("language.empty", "the instruction says nothing of the task", "", language.EMPTY, False),
        stage="instruction",
        start=language.empty,
        control=True,
    ),
    Axis(
        *("language.contradict", "the instruction asks for something else than is judged", _OF_EIGHT, _OTHERS, False),
        control=True,
    ),
)

AXES: dict[str, Axis] = {axis.name: axis for axis in _AXES}
"""Every axis by name: ours, and those that suites bring."""
_PLACES = {axis.name: place for place, axis in enumerate(_AXES)}

CONTRADICTION = "language.contradict"


def everywhere(cameras: bool = True, states: bool = True) -> list[str]:
    """The axes that work around any environment; what has no cameras has no frames to change, and so on."""
    absent = {"scene", *(() if cameras else ("image", "cameras")), *(() if states else ("state",))}
    return [axis.name for axis in _AXES if axis.stage not in absent]


def resolve(names: Sequence[str], supported: Sequence[str] | None = None) -> list[str]:
    """Axes by name, by group (`camera`) or `all`, in canonical order; a name of nothing is an error that suggests one.

    A group stands for those of its axes that are `supported` and no controls; an axis by its own name must be
    supported, and may be a control.
    """
    groups = {axis.group for axis in AXES.values()}
    allowed = set(AXES if supported is None else supported)
    chosen: set[str] = set()
    for name in names:
        if name not in AXES and name not in groups and name != "all":
            raise UnknownAxis(unknown("axis", name, [*AXES, *sorted(groups), "all"]))
        matching = [a.name for a in AXES.values() if name == a.name or (not a.control and name in (a.group, "all"))]
        if not allowed.intersection(matching):
            raise PerturbationError(f"axis '{name}' is not supported here; supported: {', '.join(sorted(allowed))}")
        chosen.update(allowed.intersection(matching))
    return sorted(chosen, key=place)


def place(name: str) -> tuple[int, str]:
    """The canonical order of axes: ours as they are listed, then those of suites by name, in every process alike."""
    return _PLACES.get(name, len(_PLACES)), name


def axis_named(name: str) -> Axis:
    """The axis; of one that only another process or installation knows, what its name says. ValueError for no name."""
    return AXES.get(name) or Axis(name, "known where its suite is", "", _OTHERS, signed=True)


def add_axes(axes: Iterable[Axis]) -> None:
    """Make axes known that a suite brings; a name means the same thing everywhere."""
    for axis in axes:
        if AXES.setdefault(axis.name, axis) != axis:
            raise PerturbationError(
                f"axis '{axis.name}' is known already, and means something else: choose another name"
            )
