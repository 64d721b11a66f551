"""What could be wrong: corrections worth trying between a policy and a suite, one at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.conventions.conversion import assumed, conversion_for, of_suite
from pytest_vla.policies.conventions.corrections import WORDINGS
from pytest_vla.policies.errors import PolicyError

if TYPE_CHECKING:
    from pytest_vla.policies import PolicySpec
    from pytest_vla.suite import Suite

Change = Mapping[str, Any]  # corrections by name; None takes one away that a person has written

SCALES = (0.001, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1000.0)
ANGLE_SCALES = (math.pi / 180, 0.5, 2.0, 180 / math.pi)
TURNS = ("rotate180", "vertical", "horizontal")
THREE_NUMBERS = ("axis_angle", "euler_xyz", "euler_XYZ", "euler_zyx", "euler_ZYX")
CROPS = (0.949,)
WAITS = (5, 10)
ONLY_PLAYED = ("horizon", "wait")  # what recorded episodes cannot show: who is asked more often agrees better


def used_cameras(spec: PolicySpec, suite: Suite) -> tuple[str, ...]:
    """The policy's cameras, by its own names."""
    return tuple(spec.conventions.cameras) or spec.cameras or tuple(suite.cameras)


def wanted_cameras(spec: PolicySpec, suite: Suite) -> tuple[str, ...]:
    """Cameras of the suite that may be looked at while changes are tried."""
    shown = spec.conventions.cameras
    if shown or len(spec.cameras or suite.cameras) > 2:
        return tuple(suite.cameras)
    used = spec.cameras or tuple(suite.cameras)
    others = [camera for camera in suite.cameras if camera not in used]
    return (*used, *others[:2])


def changes(spec: PolicySpec, suite: Suite, before: Change, kept: Iterable[str] = ()) -> list[Change]:
    """Single corrections beyond those that are there, or in place of them, and each of them taken away.

    Those that are `kept` stay; what cannot be converted is left out.
    """
    found = []
    for change in (*({name: None} for name in before), *_changes(spec, suite)):
        if set(change) & set(kept) or together(before, change) == before:
            continue
        try:
            conversion_for(spec.conventions, suite, together(before, change))
        except PolicyError:
            continue
        found.append(change)
    return found


def together(before: Change, change: Change) -> dict[str, Any]:
    """The corrections that are in force with a change."""
    return {name: value for name, value in {**before, **change}.items() if value is not None}


def fitted_scale(scale: float) -> float | None:
    """The factor that demonstrations ask for, as a round number; None where it is 1 or makes no sense."""
    if not (1e-5 < scale < 1e5) or abs(math.log(scale)) < math.log(1.25):
        return None
    power = 10.0 ** math.floor(math.log10(scale))
    nice = min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda each: abs(math.log(scale / power / each))) * power
    return nice if abs(math.log(scale / nice)) < math.log(1.2) else float(f"{scale:.2g}")


def _changes(spec: PolicySpec, suite: Suite) -> Iterator[Change]:
    said = assumed(spec.conventions, of_suite(suite))
    kinds = {part.kind for part in said.action}
    if "gripper" in kinds:
        yield {"gripper": -1}
    yield from _seen(spec, suite)
    yield from _rotations("rotation", said.action)
    yield from _rotations("state_rotation", said.state)
    if {"position", "rotation"} & kinds:
        modes = {part.mode for part in said.action if part.kind == "position"}
        yield {"actions": "absolute" if modes == {"delta"} else "delta"}
    if "position" in kinds:
        yield from ({"scale": scale} for scale in SCALES)
    if any(part.kind == "rotation" and part.size == 3 for part in said.action):
        yield from ({"rotation_scale": scale} for scale in ANGLE_SCALES)
    if said.normalisation is not None:
        used = said.normalisation.key or said.normalisation.done
        yield from ({"normalisation": key} for key in said.normalisation.statistics if key != used)
    yield from ({"wording": name} for name in WORDINGS)
    if spec.chunk > 1:
        now = said.horizon or spec.horizon or spec.chunk
        known = spec.chunk if spec.chunk < 1000 else 16  # a server that does not tell how long its chunks are
        yield from ({"horizon": length} for length in sorted({1, known // 2, known} - {now, 0}))
    yield from ({"wait": steps} for steps in WAITS)


def _seen(spec: PolicySpec, suite: Suite) -> Iterator[Change]:
    names = [name for name in used_cameras(spec, suite) if name in spec.conventions.cameras or name in suite.cameras]
    if not names:
        return
    yield from ({"turn": turn} for turn in TURNS)
    if len(names) > 1:
        yield from ({"turn": {name: turn}} for name in names for turn in TURNS)
    yield {"colours": "bgr"}
    yield from ({"crop": share} for share in CROPS)
    known = spec.conventions.cameras
    shows = {name: (known[name].shows if name in known else "") or name for name in names}
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            yield {"cameras": {one: shows[other], other: shows[one]}}
    if len(names) == 1:
        others = [camera for camera in wanted_cameras(spec, suite) if camera != shows[names[0]]]
        yield from ({"cameras": {names[0]: camera}} for camera in others)


def _rotations(name: str, parts: Any) -> Iterator[Change]:
    forms = {part.form for part in parts if part.kind == "rotation"}
    for form in forms:
        if form.startswith("quaternion"):
            yield {name: "quaternion_wxyz" if form == "quaternion_xyzw" else "quaternion_xyzw"}
        elif form in THREE_NUMBERS:
            yield from ({name: other} for other in THREE_NUMBERS if other != form)
