"""Bring objects to where a picture shows them, and back again."""

from __future__ import annotations

from pytest_vla.kit.goals import KeepDistractorsAway, Rule, StagedJudge

from ..kit import rearranging
from ..kit.draw import Draw
from ..kit.partitions import all_levels
from ..kit.prompt import SceneImage, prompt
from ..kit.rearranging import WITHIN_M
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task


@task(group="require_memory", oracle_steps=8, partitions=all_levels(bases=()), plan=rearranging.plan)
def rearrange_then_restore(draw: Draw) -> Instance:
    """Rearrange as shown, then put everything back; strict rules want the distractor back too, upstream forbids it."""
    table = rearranging.arrange(draw)
    rules: list[Rule] = [STAY_ON_TABLE]
    if table.distractor:
        when = 1 if draw.strict else 2
        rules.append(
            KeepDistractorsAway((table.distractor.label,), table.labels, table.target_spots, WITHIN_M, after_stage=when)
        )
    back = table.things if draw.strict else table.starts
    return Instance(
        table.things,
        prompt("Rearrange objects to this setup {scene} and then restore.", scene=SceneImage(table.targets)),
        StagedJudge(
            rearranging.goals(table.targets, draw.strict),
            rearranging.goals(back, draw.strict),
            rules=rules,
        ),
    )
