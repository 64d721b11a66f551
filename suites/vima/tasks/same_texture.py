"""Put everything of the base's texture into it."""

from __future__ import annotations

from ..kit.draw import Draw
from ..kit.gathering import gather
from ..kit.partitions import held_out_task
from ..kit.scene import Instance, Look
from ..kit.task import task

ALIKE = 2


@task(
    group="require_reasoning",
    oracle_steps=4,
    partitions={level: choices.instead("block", "shorter block") for level, choices in held_out_task().items()},
)
def same_texture(draw: Draw) -> Instance:
    """Two objects of the base's texture, and one of another."""
    base = draw.base()
    alike = [Look(draw.one(draw.choices.dragged), base.texture) for _ in range(ALIKE)]
    return gather(draw, "texture", base, alike, draw.dragged(not_texture=[base.texture]))
