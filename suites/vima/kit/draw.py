"""The random draws of one episode: which objects, in which textures, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from pytest_vla.kit import draw
from pytest_vla.kit.layout import Spot

from . import placement
from .partitions import Choices
from .placement import NoRoom
from .scene import Look, Thing

Item = TypeVar("Item")
PLACEMENT_TRIES = 20


@dataclass
class Draw(draw.Draw):
    """All a task may use to make an episode: its random numbers, what its partition allows, and an empty table."""

    choices: Choices
    strict: bool = False
    things: list[Thing] = field(default_factory=list)

    # --- choosing -----------------------------------------------------------------------------------------------------

    def dragged(self, *, not_texture: Iterable[str] = ()) -> Look:
        """A shape that can be picked, in a texture of that role."""
        return Look(self.one(self.choices.dragged), self.dragged_texture(not_in=not_texture))

    def base(self) -> Look:
        return Look(self.one(self.choices.bases), self.one(self.choices.base_textures))

    def dragged_texture(self, *, not_in: Iterable[str] = ()) -> str:
        return self.one(other(self.choices.dragged_textures, not_in))

    def base_texture(self, *, not_in: Iterable[str] = ()) -> str:
        return self.one(other(self.choices.base_textures, not_in))

    def distractor(self, looks: Sequence[Look]) -> Look:
        """One of the looks; under strict rules only such as a task object could have, so that none is held out."""
        return self.one([look for look in looks if not self.strict or self.choices.shows(*look.kind)])

    # --- placing ------------------------------------------------------------------------------------------------------

    def put(
        self,
        label: str,
        look: Look,
        *,
        spot: Spot | None = None,
        yaw: float | None = None,
        fixed: bool = False,
        z: float | None = None,
    ) -> Thing:
        """Stand an object on the table: at a free spot with a random yaw unless told where."""
        yaw = self.yaw() if yaw is None else yaw
        if spot is None:
            spot = placement.free_spot(self.rng, look, yaw, self.things)
        thing = Thing(label, look, spot, yaw, fixed, z)
        self.things.append(thing)
        return thing

    def put_any(self, label: str, choose: Callable[[], Look]) -> Thing:
        """Something that finds room, by trying: chosen again where there is none. Bases do not move."""
        for _ in range(PLACEMENT_TRIES):
            look = choose()
            try:
                return self.put(label, look, fixed=look.shape in self.choices.bases)
            except NoRoom:
                continue
        raise NoRoom

    def put_where(self, allowed: Callable[[Thing], bool], label: str, look: Look, *, fixed: bool = False) -> Thing:
        """A free spot that meets one more condition, by trying."""
        for _ in range(PLACEMENT_TRIES):
            thing = self.put(label, look, fixed=fixed)
            if allowed(thing):
                return thing
            self.things.pop()
        raise NoRoom


def other(options: Sequence[Item], used: Iterable[Item]) -> list[Item]:
    """The options that are not used yet."""
    taken = list(used)
    return [option for option in options if option not in taken]


def looks(shapes: Iterable[str], textures: Iterable[str], *, without: Iterable[Look] = ()) -> list[Look]:
    """Every shape in every texture, but for the given ones."""
    every = _every_look(tuple(shapes), tuple(textures))
    taken = {look.kind for look in without}
    return [look for look in every if look.kind not in taken] if taken else list(every)


@cache
def _every_look(shapes: tuple[str, ...], textures: tuple[str, ...]) -> tuple[Look, ...]:
    return tuple(Look(s, t) for s in dict.fromkeys(shapes) for t in dict.fromkeys(textures))
