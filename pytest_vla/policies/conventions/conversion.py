"""From the conventions of one side to those of the other: what is done, planned before the first episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.drawing import LazyImages
from pytest_vla.policies.conventions.corrections import amended
from pytest_vla.policies.conventions.declared import Camera, Conventions, Normalisation, Part
from pytest_vla.policies.conventions.rotations import from_matrix, to_matrix
from pytest_vla.policies.errors import PolicyError

if TYPE_CHECKING:
    from pytest_vla.suite import Suite

TURNED = {"none": 0, "vertical": 1, "horizontal": 2, "rotate180": 3}  # as bits: rows reversed, columns reversed
AMONG_ALL = "state"  # the key under which a converted state stands where its parts name none


@dataclass(frozen=True)
class Conversion:
    """What lies between a policy and a suite. `lines` say it, and are empty where nothing has to be done."""

    policy: Conventions
    suite: Conventions
    lines: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lines)

    def see(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """The observation as the policy knows it; pictures are drawn and turned only when somebody looks."""
        seen = dict(observation)
        if self._cameras_differ:
            seen["images"] = self._images(observation["images"])
        if self._state_differs:
            seen["state"] = self._state(observation)
        if self.policy.wording is not None and "instruction" in seen:
            seen["instruction"] = self.policy.wording(str(seen["instruction"]))
        return seen

    def do(self, action: Any, observation: Mapping[str, Any]) -> Any:
        """The policy's numbers as the suite takes them; `observation` is the suite's own, of this moment."""
        values = np.asarray(action, np.float64).reshape(-1)
        size = sum(part.size for part in self.policy.action)
        if len(values) != size:
            raise PolicyError(f"its conventions say that an action has {size} numbers, got {len(values)}")
        values = _unnormalised(values, self.policy.normalisation)
        parts = _split(values, self.policy.action)
        made = [
            np.full(wanted.size, wanted.default)
            if place is None
            else self._part(self.policy.action[place], wanted, parts[place], observation)
            for wanted, place in zip(self.suite.action, _places(self.policy.action, self.suite.action), strict=True)
        ]
        return np.concatenate(made).astype(np.float32)

    @property
    def changes_actions(self) -> bool:
        return bool(self.suite.action) and (
            _meant(self.policy.action) != _meant(self.suite.action) or _renormalises(self.policy.normalisation)
        )

    @property
    def _cameras_differ(self) -> bool:
        return any(_differs(name, want, *_source(name, want, self.suite)) for name, want in self.policy.cameras.items())

    @property
    def _state_differs(self) -> bool:
        return bool(self.policy.state) and self.policy.state != self.suite.state

    def _images(self, images: Mapping[str, Any]) -> LazyImages[Any]:
        wanted = self.policy.cameras

        def draw(name: str) -> Any:
            camera, given = _source(name, wanted[name], self.suite)
            return shown(images[camera], given, wanted[name])

        return LazyImages(tuple(wanted), draw)

    def _state(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        given = _state_parts(observation, self.suite.state)
        made: dict[str, list[Any]] = {}
        for wanted, place in zip(self.policy.state, _places(self.suite.state, self.policy.state), strict=True):
            if place is None:
                values = np.full(wanted.size, wanted.default)
            else:
                values = self._part(self.suite.state[place], wanted, given[place], observation)
            made.setdefault(wanted.name or AMONG_ALL, []).append(values)
        return {name: np.concatenate(values).astype(np.float32) for name, values in made.items()}

    def _part(self, given: Part, wanted: Part, values: Any, observation: Mapping[str, Any]) -> Any:
        match given.kind:
            case "gripper":
                opening = (values - given.closed) / (given.open - given.closed)
                return wanted.closed + opening * (wanted.open - wanted.closed)
            case "position":
                return self._position(given, wanted, values * given.unit, observation) / wanted.unit
            case "rotation":
                return self._rotation(given, wanted, values, observation)
        return values

    def _position(self, given: Part, wanted: Part, metres: Any, observation: Mapping[str, Any]) -> Any:
        if _moves(given) == _moves(wanted):
            return metres
        if given.mode == "delta" and given.frame == "tool":
            metres = self._hand("rotation", observation) @ metres
        if given.mode != wanted.mode:
            here = self._hand("position", observation)
            metres = metres - here if wanted.mode == "delta" else metres + here
        if wanted.mode == "delta" and wanted.frame == "tool":
            metres = self._hand("rotation", observation).T @ metres
        return metres

    def _rotation(self, given: Part, wanted: Part, values: Any, observation: Mapping[str, Any]) -> Any:
        vector = given.form == "axis_angle" or given.form.startswith("euler")
        turn = to_matrix(values * given.unit if vector else values, given.form)
        if _moves(given) != _moves(wanted):
            here = self._hand("rotation", observation)
            if given.mode == "delta" and given.frame == "tool":
                turn = here @ turn @ here.T
            if given.mode != wanted.mode:
                turn = turn @ here.T if wanted.mode == "delta" else turn @ here
            if wanted.mode == "delta" and wanted.frame == "tool":
                turn = here.T @ turn @ here
        made = from_matrix(turn, wanted.form)
        return made / wanted.unit if wanted.form == "axis_angle" or wanted.form.startswith("euler") else made

    def _hand(self, kind: str, observation: Mapping[str, Any]) -> Any:
        """Where the hand is, or how it is turned, by the suite's state."""
        for part, values in zip(self.suite.state, _state_parts(observation, self.suite.state), strict=True):
            if part.kind == kind:
                return values * part.unit if kind == "position" else to_matrix(values, part.form)
        raise PolicyError(f"the suite's state has no {kind}")


def conversion_for(spec: Conventions, suite: Suite, corrections: Mapping[str, Any] | None = None) -> Conversion:
    """What has to be done between a policy that declares these conventions and a suite; PolicyError where it cannot.

    What the policy does not say is taken as the suite has it; corrections then change what was said or taken.
    """
    theirs = of_suite(suite)
    ours = amended(assumed(spec, theirs), corrections or {})
    _check(ours, theirs, suite.name)
    return Conversion(ours, theirs, tuple(_lines(ours, theirs)))


def misfit(spec: Conventions, suite: Suite, corrections: Mapping[str, Any] | None = None) -> str | None:
    """Why conventions cannot be converted to those of a suite, in a sentence that names both sides; None: they can."""
    try:
        conversion_for(spec, suite, corrections)
    except PolicyError as error:
        return str(error)
    return None


def applied(spec: Conventions, suite: Suite, corrections: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """What is converted between a policy and a suite, a line each."""
    return conversion_for(spec, suite, corrections).lines


def of_suite(suite: Suite) -> Conventions:
    """What a suite declares; its cameras, sizes and rate are known anyway."""
    said = suite.conventions
    cameras = {
        name: replace(said.cameras.get(name, Camera()), size=suite.image_sizes.get(name)) for name in suite.cameras
    }
    return replace(said, cameras=cameras, control_hz=suite.control_hz)


def assumed(said: Conventions, suite: Conventions) -> Conventions:
    """The conventions of a policy with what it leaves open as the suite has it."""
    return replace(
        said,
        cameras=said.cameras or {name: replace(camera, shows=name) for name, camera in suite.cameras.items()},
        state=said.state or suite.state,
        action=_filled(said.action, suite.action) if said.partial else said.action or suite.action,
    )


def _filled(said: Sequence[Part], suite: Sequence[Part]) -> tuple[Part, ...]:
    """The suite's layout with the parts that were said in place of its own."""
    return tuple(
        part if place is None else said[place] for part, place in zip(suite, _places(said, suite), strict=True)
    )


def shown(image: Any, given: Camera, wanted: Camera) -> Any:
    """A picture as another convention has it: upright first, then cropped, sized, turned and coloured as wanted."""
    turn = TURNED[given.turn] ^ TURNED[wanted.turn]
    picture = np.asarray(image)
    if turn & 1:
        picture = picture[::-1]
    if turn & 2:
        picture = picture[:, ::-1]
    if given.colours != wanted.colours:
        picture = picture[..., ::-1]
    if wanted.crop < given.crop:
        share = wanted.crop / given.crop
        height, width = (max(1, round(share * side)) for side in picture.shape[:2])
        top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
        picture = picture[top : top + height, left : left + width]
        wanted = replace(wanted, size=wanted.size or np.asarray(image).shape[:2])
    picture = np.ascontiguousarray(picture)
    if wanted.size is None or tuple(wanted.size) == picture.shape[:2]:
        return picture
    from PIL import Image

    return np.asarray(Image.fromarray(picture).resize((wanted.size[1], wanted.size[0]), Image.Resampling.LANCZOS))


# --- what fits -------------------------------------------------------------------------------------------------------


def _source(name: str, wanted: Camera, suite: Conventions) -> tuple[str, Camera]:
    """The suite's camera that a policy's shows."""
    if wanted.shows in suite.cameras:
        return wanted.shows, suite.cameras[wanted.shows]
    if not wanted.shows and name in suite.cameras:
        return name, suite.cameras[name]
    role = wanted.role or wanted.shows
    for camera, given in suite.cameras.items():
        if role and given.role == role:
            return camera, given
    has = ", ".join(f"'{each}'{f' ({c.role})' if c.role else ''}" for each, c in suite.cameras.items()) or "none"
    want = f" ({role})" if role else ""
    raise PolicyError(f"the policy looks at camera '{name}'{want}, and nothing says which of {has} that is")


def _check(ours: Conventions, theirs: Conventions, suite: str) -> None:
    for name, camera in ours.cameras.items():
        _source(name, camera, theirs)
    how = ours.normalisation
    if how is not None and not how.done and not how.key and len(how.statistics) > 1:
        keys = ", ".join(how.statistics)
        raise PolicyError(f"the policy has statistics for {keys}: add `normalisation = KEY` to its conventions")
    if ours.action and theirs.action:
        _check_parts("action", ours.action, theirs.action, theirs.state, suite)
    if ours.state and theirs.state:
        _check_parts("state", theirs.state, ours.state, theirs.state, suite)


def _check_parts(what: str, given: Sequence[Part], wanted: Sequence[Part], state: Sequence[Part], suite: str) -> None:
    """Whether every wanted part can be made; the message has both layouts."""
    both = f"one side has {_layout(given)}; the other has {_layout(wanted)}"
    if what == "action":
        both = f"the policy gives {_layout(given)}; '{suite}' takes {_layout(wanted)}"
    elif wanted is not state:
        both = f"'{suite}' gives {_layout(given)}; the policy takes {_layout(wanted)}"
    places = _places(given, wanted)
    for part, place in zip(wanted, places, strict=True):
        if place is None:
            if part.kind != "flag":
                raise PolicyError(f"no {part.kind} for the {what}: {both}")
            continue
        source = given[place]
        if source.size != part.size and source.kind != "rotation":
            raise PolicyError(f"the {source.kind} of the {what} has another size: {both}")
        kinds = {each.kind for each in state}
        needs_pose = _moves(source) != _moves(part) and what == "action"
        if needs_pose and source.kind in ("position", "rotation"):
            lacking = {source.kind if source.mode != part.mode else "rotation"} - kinds
            if "tool" in (_moves(source)[1], _moves(part)[1]):
                lacking |= {"rotation"} - kinds
            if lacking:
                raise PolicyError(
                    f"the state has no {' and no '.join(sorted(lacking))} to convert the {what} by: {both}"
                )
    if what == "action":
        used = set(places)
        spare = [part for number, part in enumerate(given) if number not in used and part.kind != "flag"]
        if spare:
            raise PolicyError(f"nothing takes its {spare[0].kind}: {both}")


def _lines(ours: Conventions, theirs: Conventions) -> list[str]:
    """What is converted, as a person says it."""
    found = []
    for name, camera in ours.cameras.items():
        source, given = _source(name, camera, theirs)
        if _differs(name, camera, source, given):
            found.append(f"camera '{name}': {', '.join(_seen(name, camera, source, given))}")
    if ours.state and theirs.state and _layout(ours.state) != _layout(theirs.state):
        found.append(f"state: {_layout(theirs.state)} -> {_layout(ours.state)}")
    for part, place in zip(theirs.action, _places(ours.action, theirs.action), strict=True):
        if place is None:
            found.append(f"action: {part.kind} is {part.default:g}, which the policy does not give")
        elif _meant((ours.action[place],)) != _meant((part,)):
            found.append(f"action: {ours.action[place]} -> {part}")
    if theirs.action and _renormalises(ours.normalisation):
        assert ours.normalisation is not None
        found.append(f"action: un-normalised by {ours.normalisation.method} of '{_key(ours.normalisation)}'")
    if ours.wording is not None:
        example = ours.wording("Pick it up.")
        found.append(f"instruction: 'Pick it up.' -> {example!r}")
    if ours.horizon:
        found.append(f"chunks: {ours.horizon} actions of each are executed")
    if ours.wait:
        found.append(f"start: it waits for {ours.wait} steps")
    return found


def _seen(name: str, wanted: Camera, source: str, given: Camera) -> list[str]:
    said = [f"shows '{source}'"] if name != source else []
    if given.turn != wanted.turn:
        both = TURNED[given.turn] ^ TURNED[wanted.turn]
        said.append({1: "upside down", 2: "mirrored", 3: "turned by 180 degrees"}[both])
    if given.colours != wanted.colours:
        said.append("red and blue exchanged")
    if wanted.crop < given.crop:
        said.append(f"the middle {100 * wanted.crop / given.crop:.0f} % of each side")
    if wanted.size is not None and given.size is not None and tuple(wanted.size) != tuple(given.size):
        said.append(f"{given.size[0]} x {given.size[1]} -> {wanted.size[0]} x {wanted.size[1]} pixels")
    return said


def _differs(name: str, wanted: Camera, source: str, given: Camera) -> bool:
    return bool(_seen(name, wanted, source, given))


def _layout(parts: Sequence[Part]) -> str:
    return ", ".join(map(str, parts))


def _meant(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts without what has no bearing on their numbers in an action."""
    return tuple(replace(part, name="", default=0.0, frame=_moves(part)[1]) for part in parts)


def _moves(part: Part) -> tuple[str, str]:
    """Mode and frame; where to go to is always in the base's axes."""
    return part.mode, part.frame if part.mode == "delta" else "base"


def _places(given: Sequence[Part], wanted: Sequence[Part]) -> list[int | None]:
    """For each wanted part the place of the given one: the n-th of a kind is the n-th of that kind."""
    left = list(range(len(given)))
    places: list[int | None] = []
    for part in wanted:
        place = next((number for number in left if given[number].kind == part.kind), None)
        if place is not None:
            left.remove(place)
        places.append(place)
    return places


# --- numbers ---------------------------------------------------------------------------------------------------------


def _split(values: Any, parts: Sequence[Part]) -> list[Any]:
    ends = np.cumsum([part.size for part in parts])
    return np.split(values, ends[:-1])


def _state_parts(observation: Mapping[str, Any], parts: Sequence[Part]) -> list[Any]:
    """The numbers of each part of a suite's state; parts of one key stand in it one after the other."""
    used: dict[str, int] = {}
    found = []
    for part in parts:
        start = used.get(part.name, 0)
        used[part.name] = start + part.size
        vector = np.asarray(observation["state"][part.name], np.float64).reshape(-1)
        found.append(vector[start : start + part.size])
    return found


def _key(normalisation: Normalisation) -> str:
    return normalisation.key or next(iter(normalisation.statistics), "")


def _renormalises(normalisation: Normalisation | None) -> bool:
    if normalisation is None or not normalisation.statistics:
        return False
    return normalisation.done != _key(normalisation)


def _unnormalised(values: Any, normalisation: Normalisation | None) -> Any:
    if normalisation is None or not _renormalises(normalisation):
        return values
    if normalisation.done:
        values = _scaled(values, normalisation, normalisation.done, back=True)
    return _scaled(values, normalisation, _key(normalisation))


def _scaled(values: Any, normalisation: Normalisation, key: str, *, back: bool = False) -> Any:
    statistics = normalisation.statistics[key]
    low, high = (np.asarray(statistics[name], np.float64) for name in ("low", "high"))
    counts = np.asarray(statistics.get("mask", np.ones_like(low)), bool)
    if normalisation.method == "mean_std":
        middle, half = low, high
    else:
        middle, half = (low + high) / 2, (high - low) / 2
    half = np.where(half == 0, 1.0, half)
    made = (values - middle) / half if back else values * half + middle
    return np.where(counts, made, values)
