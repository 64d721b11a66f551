"""Which shapes and textures each partition allows, per task: the specification's table in a few names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..objects import OBJECTS
from ..textures import TEXTURE_SETS

TRAIN = "train"
L1 = "placement_generalization"
L2 = "combinatorial_generalization"
L3 = "novel_object_generalization"
L4 = "novel_task_generalization"
LEVELS = (L1, L2, L3, L4)
PARTITIONS = (TRAIN, *LEVELS)

Names = tuple[str, ...]


def _dragged(novel: bool) -> Names:
    """Shapes a tool can pick, without the low block that only the same_* tasks use."""
    chosen = (name for name, spec in OBJECTS.items() if spec.role == "dragged" and spec.novel is novel)
    return tuple(name for name in chosen if name != "shorter block")


SEEN = _dragged(novel=False)
NOVEL = _dragged(novel=True)
SEEN_TURNABLE = tuple(name for name in SEEN if (OBJECTS[name].symmetry_rad or 0) > 6)
BASES = ("bowl", "frame", "container", "square")
NOVEL_BASES = ("pallet", "pan")


@dataclass(frozen=True, slots=True)
class Choices:
    """What a task may draw from in one partition; a task without bases leaves those empty."""

    dragged: Names
    bases: Names
    dragged_textures: Names
    base_textures: Names

    def shows(self, shape: str, texture: str) -> bool:
        """Whether a task object of this partition may have that look."""
        as_dragged = shape in self.dragged and texture in self.dragged_textures
        return as_dragged or (shape in self.bases and texture in self.base_textures)

    def without(self, *shapes: str) -> Choices:
        return replace(self, dragged=tuple(name for name in self.dragged if name not in shapes))

    def instead(self, old: str, new: str) -> Choices:
        """The same with one dragged shape exchanged; it is appended where the old one was not there."""
        swapped = tuple(new if name == old else name for name in self.dragged)
        return replace(self, dragged=swapped if new in swapped else (*swapped, new))


def _textures(name: str) -> Names:
    return tuple(TEXTURE_SETS[name])


def all_levels(
    *,
    seen: Names = SEEN,
    novel: Names = NOVEL,
    bases: Names = BASES,
    novel_bases: Names = NOVEL_BASES,
    dark: bool = False,
) -> dict[str, Choices]:
    """Train and levels 1 to 3: level 2 swaps the texture sets of the two roles, level 3 brings unseen shapes.

    A task without bases draws from all 49 textures at level 3, one with bases from a half each.
    """
    a, b = _textures("A_DARK" if dark else "A"), _textures("B_DARK" if dark else "B")
    base_a, base_b = _textures("A"), _textures("B")
    novel_textures = _textures("LIGHT_DARK" if dark else "HALF1" if bases else "ALL49")
    train = Choices(seen, bases, a, base_b if bases else ())
    return {
        TRAIN: train,
        L1: train,
        L2: Choices(seen, bases, b, base_a if bases else ()),
        L3: Choices(novel, novel_bases if bases else (), novel_textures, _textures("HALF2") if bases else ()),
    }


def held_out_task(*, bases: bool = True, dark: bool = False) -> dict[str, Choices]:
    """Level 4: every shape; a half of the textures for each role, or all of them where there is one role."""
    textures = _textures("LIGHT_DARK" if dark else "HALF1" if bases else "ALL49")
    both = tuple(name for name in OBJECTS if name in SEEN + NOVEL)
    all_bases = tuple(name for name in OBJECTS if name in BASES + NOVEL_BASES)
    return {L4: Choices(both, all_bases if bases else (), textures, _textures("HALF2") if bases else ())}


def sweeping(levels: Mapping[str, Choices]) -> dict[str, Choices]:
    """The same textures for the two shapes that are swept and swept into."""
    return {
        level: replace(choices, dragged=("small block",), bases=("three-sided rectangle",))
        for level, choices in levels.items()
        if level != L3
    }
