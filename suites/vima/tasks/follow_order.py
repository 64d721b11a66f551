"""Repeat a stacking demonstration move by move."""

from __future__ import annotations

from pytest_vla.kit.goals import At, StagedJudge

from ..kit.draw import Draw, other
from ..kit.partitions import all_levels
from ..kit.prompt import SceneImage, prompt
from ..kit.scene import Instance, Look, Thing
from ..kit.task import task

WITHIN_M = 0.10
PILES = ((0.5, -0.25), (0.5, 0.0), (0.5, 0.25))
MOVES = 2


@task(group="one_shot_imitation", oracle_steps=4, partitions=all_levels(bases=()))
def follow_order(draw: Draw) -> Instance:
    """Three objects of one shape in three textures; two moves between piles are shown and must be made in turn."""
    shape = draw.one(draw.choices.dragged)
    textures = draw.some(draw.choices.dragged_textures, len(PILES))
    objects = [
        draw.put(f"object_{i}", Look(shape, texture), spot=spot, yaw=0.0)
        for i, (texture, spot) in enumerate(zip(textures, PILES, strict=True))
    ]
    distractor = Look(draw.one(other(draw.choices.dragged, [shape])), draw.dragged_texture())
    frames, goals = _demonstration(draw, objects)
    draw.put("distractor", distractor)
    return Instance(
        tuple(draw.things),
        prompt(
            "Stack objects in this order {frame_0} {frame_1} {frame_2}.",
            **{f"frame_{i}": frame for i, frame in enumerate(frames)},
        ),
        StagedJudge(*([goal] for goal in goals), every_step=True),
        places="absolute",
    )


def _demonstration(draw: Draw, objects: list[Thing]) -> tuple[list[SceneImage], list[At]]:
    """Moves of a pile's top object to another pile, each legal one as likely as the others."""
    piles: list[list[Thing]] = [[thing] for thing in objects]
    height = objects[0].look.height_m
    frames, goals = [_picture(piles)], []
    for _ in range(MOVES):
        sources = [i for i, pile in enumerate(piles) if pile]
        source, target = draw.one([(a, b) for a in sources for b in range(len(piles)) if a != b])
        piles[target].append(piles[source].pop())
        frames.append(_picture(piles))
        z = height * (len(piles[target]) - 0.5) if draw.strict else None
        goals.append(At(piles[target][-1].label, PILES[target], WITHIN_M, yaw=0.0, z=z, z_within_m=height / 2))
    return frames, goals


def _picture(piles: list[list[Thing]]) -> SceneImage:
    return SceneImage(
        tuple(
            Thing(thing.label, thing.look, PILES[i], z=thing.look.height_m * (level + 0.5))
            for i, pile in enumerate(piles)
            for level, thing in enumerate(pile)
        )
    )
