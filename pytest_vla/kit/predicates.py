"""When a task of things and zones is done: predicates over what overlaps, what has moved and what is held.

A predicate is a value; what it must remember (which of its steps are done) is in the judge's memory, so that an episode
can be judged again from the start. `gap` says what is missing, for progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_vla.kit.goals import ALMOST, Verdict, Ways
from pytest_vla.sim.pose import Pose

Memory = dict[Any, Any]


class State(Protocol):
    """What is asked about a moment."""

    @property
    def held(self) -> frozenset[str]:
        """The labels of what the hand holds."""
        ...

    def overlap(self, thing: str, zone: str) -> bool:
        """Whether a thing reaches into a zone."""
        ...

    def distance(self, thing: str, zone: str) -> float:
        """About how far a thing is from a zone (m); 0 where it reaches into it."""
        ...

    def tip_distance(self, zone: str) -> float:
        """How far the hand's tip is from a zone's middle, along the axis of the zone on which it is farthest (m)."""
        ...

    def moved(self, joint: str) -> float:
        """How far a joint has gone since the episode began (m or rad)."""
        ...

    def pose(self, thing: str) -> Pose: ...


class Predicate(Protocol):
    def holds(self, state: State, memory: Memory) -> bool: ...

    def gap(self, state: State) -> float: ...

    def parts(self) -> Sequence[Predicate]:
        """What it is put together from; nothing where it stands for itself."""
        ...


@dataclass(frozen=True, slots=True)
class In:
    """The thing reaches into the zone; partly is enough."""

    thing: str
    zone: str

    def holds(self, state: State, memory: Memory) -> bool:
        return state.overlap(self.thing, self.zone)

    def gap(self, state: State) -> float:
        return state.distance(self.thing, self.zone)

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class NotIn:
    """The thing is clear of the zone."""

    thing: str
    zone: str

    def holds(self, state: State, memory: Memory) -> bool:
        return not state.overlap(self.thing, self.zone)

    def gap(self, state: State) -> float:
        return float(state.overlap(self.thing, self.zone))

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class JointMoved:
    """A joint has gone farther than this; either way, unless `towards` (1 or -1) says which."""

    joint: str
    least: float
    towards: int = 0

    def holds(self, state: State, memory: Memory) -> bool:
        return self._way(state) > self.least

    def gap(self, state: State) -> float:
        return max(self.least - self._way(state), 0.0)

    def _way(self, state: State) -> float:
        way = state.moved(self.joint)
        return self.towards * way if self.towards else abs(way)

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class TipNear:
    """The hand's tip is over a zone's middle: it is the fingers that press, not whatever the arm brushes against."""

    zone: str
    within_m: float

    def holds(self, state: State, memory: Memory) -> bool:
        return state.tip_distance(self.zone) <= self.within_m

    def gap(self, state: State) -> float:
        return max(state.tip_distance(self.zone) - self.within_m, 0.0)

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class Held:
    thing: str

    def holds(self, state: State, memory: Memory) -> bool:
        return self.thing in state.held

    def gap(self, state: State) -> float:
        return float(self.thing not in state.held)

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class NoneHeld:
    def holds(self, state: State, memory: Memory) -> bool:
        return not state.held

    def gap(self, state: State) -> float:
        return 0.0

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class All:
    """Everything at once."""

    of: tuple[Predicate, ...]

    def holds(self, state: State, memory: Memory) -> bool:
        return all(part.holds(state, memory) for part in self.of)

    def gap(self, state: State) -> float:
        return sum(part.gap(state) for part in self.of)

    def parts(self) -> Sequence[Predicate]:
        return self.of


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several is enough."""

    of: tuple[Predicate, ...]

    def holds(self, state: State, memory: Memory) -> bool:
        return any(part.holds(state, memory) for part in self.of)

    def gap(self, state: State) -> float:
        return min(part.gap(state) for part in self.of)

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class CountIn:
    """At least so many of the things reach into the zone."""

    things: tuple[str, ...]
    zone: str
    least: int

    def holds(self, state: State, memory: Memory) -> bool:
        return sum(state.overlap(thing, self.zone) for thing in self.things) >= self.least

    def gap(self, state: State) -> float:
        nearest = sorted(state.distance(thing, self.zone) for thing in self.things)
        return sum(nearest[: self.least])

    def parts(self) -> Sequence[Predicate]:
        return ()


@dataclass(frozen=True, slots=True)
class Ordered:
    """One after the other; each is remembered once it held."""

    of: tuple[Predicate, ...]

    def holds(self, state: State, memory: Memory) -> bool:
        while (done := memory.get(self, 0)) < len(self.of) and self.of[done].holds(state, memory):
            memory[self] = done + 1
        return bool(memory.get(self, 0) == len(self.of))

    def gap(self, state: State) -> float:
        return sum(part.gap(state) for part in self.of)

    def parts(self) -> Sequence[Predicate]:
        return self.of


def all_of(*parts: Predicate) -> All:
    return All(parts)


def any_of(*parts: Predicate) -> AnyOf:
    return AnyOf(parts)


def ordered(*parts: Predicate) -> Ordered:
    return Ordered(parts)


def all_in(things: Sequence[str], zone: str) -> All:
    """Every one of the things reaches into the zone."""
    return All(tuple(In(thing, zone) for thing in things))


def all_zones(thing: str, zones: Sequence[str]) -> All:
    """The thing reaches into every one of the zones."""
    return All(tuple(In(thing, zone) for zone in zones))


@dataclass(frozen=True, slots=True)
class FailIn:
    """The episode is lost where the thing reaches into the zone: when an action ends, or at any moment."""

    thing: str
    zone: str
    always: bool = False


@dataclass(frozen=True, slots=True)
class Trigger:
    """Once this holds, something happens, once; `then` is judged from then on, in place of what was before."""

    when: Predicate
    happens: Callable[[Any], None]
    then: Predicate


class ThingJudge:
    """Follows one episode from moment to moment."""

    def __init__(self, done: Predicate, fails: Sequence[FailIn] = (), trigger: Trigger | None = None) -> None:
        self.done, self.fails, self.trigger = done, tuple(fails), trigger
        self.memory: Memory = {}
        self.success = False
        self._ways = Ways()

    def update(self, state: State, *, at_end: bool = False) -> Verdict:
        """What is the case now; `at_end` says that an action has just ended."""
        if self.trigger is not None and self.trigger.when.holds(state, self.memory):
            trigger, self.trigger = self.trigger, None
            trigger.happens(state)
            self.done = trigger.then
        for fail in self.fails:
            if (at_end or fail.always) and state.overlap(fail.thing, fail.zone):
                return Verdict(failure=f"{fail.thing} touched {fail.zone}")
        self.success = self.success or self.done.holds(state, self.memory)
        return Verdict(success=self.success)

    def progress(self, state: State) -> float:
        """The mean over the parts of what is to be done: 1 where one holds, else how far it has come."""
        if self.success:
            return 1.0
        parts = list(_leaves(self.done))
        made = [min(self._ways.made(part, part.gap(state)), ALMOST) for part in parts if not isinstance(part, NoneHeld)]
        return sum(made) / len(made) if made else 0.0


def _leaves(predicate: Predicate) -> Iterator[Predicate]:
    parts = predicate.parts()
    if not parts:
        yield predicate
    for part in parts:
        yield from _leaves(part)
