"""Put an object that is named by its texture and shown in a scene into one that is named by its texture."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw, looks, other
from ..kit.partitions import all_levels
from ..kit.prompt import SceneImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance, Look
from ..kit.task import task

WITHIN_M = 0.10


@task(group="instruction_following", oracle_steps=3, partitions=all_levels())
def scene_understanding(draw: Draw) -> Instance:
    """The scene tells which of two objects of the named texture is meant, or the text which of two bases."""
    base = draw.base()
    dragged = draw.dragged(not_texture=[base.texture])
    scene = _scene(draw, dragged)
    goal = draw.put("base", base, fixed=True).spot
    draw.put("dragged", dragged)
    draw.put_any("distractor", lambda: _distractor(draw, dragged, base))
    return Instance(
        tuple(draw.things),
        prompt(f"Put the {dragged.texture} object in {{scene}} into the {base.texture} object.", scene=scene),
        StagedJudge(
            [At("dragged", goal, WITHIN_M)],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("distractor",), ("dragged",), (goal,), WITHIN_M)],
        ),
    )


def _distractor(draw: Draw, dragged: Look, base: Look) -> Look:
    """Another shape in the dragged object's texture, or the base's shape in another texture."""
    if draw.chance(0.5):
        return Look(draw.one(other(draw.choices.dragged, [dragged.shape])), dragged.texture)
    textures = other(draw.choices.base_textures + draw.choices.dragged_textures, [base.texture])
    return draw.distractor(looks([base.shape], textures))


def _scene(draw: Draw, dragged: Look) -> SceneImage:
    """A table of its own: the dragged object, and something in another texture."""
    options = draw.choices
    textures = other(options.dragged_textures + options.base_textures, [dragged.texture])
    table = Draw(draw.rng, options, draw.strict)
    table.put("dragged", dragged)
    table.put("distractor", draw.distractor(looks(options.dragged + options.bases, textures)))
    return SceneImage(tuple(table.things))
