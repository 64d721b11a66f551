"""Put the object that a made-up adjective and a made-up noun pick out into another."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw
from ..kit.novelty import NOUNS, draw_adjective, draw_compared, draw_other, gray
from ..kit.partitions import held_out_task
from ..kit.prompt import prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10
OTHERS = 2


@task(
    group="novel_concept_grounding",
    oracle_steps=3,
    partitions={level: choices.without("block") for level, choices in held_out_task(dark=True).items()},
)
def novel_adj_and_noun(draw: Draw) -> Instance:
    """The noun picks a shape, the adjective one of the two objects of that shape; two others stand by."""
    adjective = draw_adjective(draw)
    pair, base = draw_compared(draw, adjective), draw.base()
    this, that = draw.some(NOUNS, 2)
    definitions = [f"This is a {this} {{dragged_obj}}. ", f"This is a {that} {{base_obj}}. "]
    less = draw.chance(0.5)
    dragged, contrast = (pair.less, pair.more) if less else (pair.more, pair.less)
    goal = draw.put("base", base, fixed=True).spot
    draw.put("dragged", dragged)
    draw.put("contrast", contrast)
    used = dragged.shape, base.shape
    others = [draw.put_any(f"other_{i}", lambda: draw_other(draw, used)).label for i in range(OTHERS)]
    which = f"{'less ' if less else ''}{adjective.word}"
    return Instance(
        tuple(draw.things),
        prompt(
            f"{''.join(draw.some(definitions, 2))}{adjective.text()}Put the {which} {this} into the {that}.",
            **adjective.assets(),
            dragged_obj=gray(dragged),
            base_obj=gray(base),
        ),
        StagedJudge(
            [At("dragged", goal, WITHIN_M)],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("contrast", *others), ("dragged",), (goal,), WITHIN_M)],
        ),
        alike="texture",
    )
