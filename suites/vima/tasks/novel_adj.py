"""Put the object that a made-up adjective picks out into another."""

from __future__ import annotations

from pytest_vla.kit.goals import At, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw
from ..kit.novelty import draw_adjective, draw_compared, gray
from ..kit.partitions import SEEN, all_levels
from ..kit.prompt import prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10


@task(
    group="novel_concept_grounding",
    oracle_steps=3,
    partitions=all_levels(seen=tuple(name for name in SEEN if name != "block"), dark=True),
)
def novel_adj(draw: Draw) -> Instance:
    """Three comparisons teach a word for height or colour; of two objects of one shape it picks one."""
    adjective = draw_adjective(draw)
    pair, base = draw_compared(draw, adjective), draw.base()
    less = draw.chance(0.5)
    dragged, contrast = (pair.less, pair.more) if less else (pair.more, pair.less)
    goal = draw.put("base", base, fixed=True).spot
    draw.put("dragged", dragged)
    draw.put("contrast", contrast)
    which = f"{'less ' if less else ''}{adjective.word}"
    return Instance(
        tuple(draw.things),
        prompt(
            f"{adjective.text()}Put the {which} {{dragged_obj}} into the {{base_obj}}.",
            **adjective.assets(),
            dragged_obj=gray(dragged),
            base_obj=gray(base),
        ),
        StagedJudge(
            [At("dragged", goal, WITHIN_M)],
            rules=[STAY_ON_TABLE, KeepDistractorsAway(("contrast",), ("dragged",), (goal,), WITHIN_M)],
        ),
        alike="texture",
    )
