"""Put everything of the base's profile into it."""

from __future__ import annotations

from ..kit.draw import Draw
from ..kit.gathering import gather
from ..kit.partitions import NOVEL, SEEN, all_levels
from ..kit.scene import Instance, Look
from ..kit.task import task
from ..objects import OBJECTS

ALIKE = 2


@task(
    group="require_reasoning",
    oracle_steps=4,
    partitions=all_levels(
        seen=tuple("shorter block" if name == "block" else name for name in SEEN), novel=(*NOVEL, "shorter block")
    ),
)
def same_shape(draw: Draw) -> Instance:
    """Two objects that are round or square like the base, in any texture, and one that is not."""
    base = draw.base()
    profile = OBJECTS[base.shape].profile
    like = [shape for shape in draw.choices.dragged if OBJECTS[shape].profile == profile]
    unlike = [shape for shape in draw.choices.dragged if OBJECTS[shape].profile != profile]
    alike = [Look(draw.one(like), draw.dragged_texture()) for _ in range(ALIKE)]
    different = draw.dragged_texture(not_in=[look.texture for look in alike])
    return gather(draw, "profile", base, alike, Look(draw.one(unlike), different))
