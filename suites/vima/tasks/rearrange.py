"""Bring objects to where a picture shows them."""

from __future__ import annotations

from pytest_vla.kit.goals import KeepDistractorsAway, Rule, StagedJudge

from ..kit import rearranging
from ..kit.draw import Draw
from ..kit.partitions import all_levels
from ..kit.prompt import SceneImage, prompt
from ..kit.rearranging import WITHIN_M
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task


@task(group="rearrangement", oracle_steps=5, partitions=all_levels(bases=()), plan=rearranging.plan)
def rearrange(draw: Draw) -> Instance:
    """Bring one to three objects to the places of a shown scene; what lies on a place must go."""
    table = rearranging.arrange(draw)
    rules: list[Rule] = [STAY_ON_TABLE]
    if table.distractor:
        away = KeepDistractorsAway((table.distractor.label,), table.labels, table.target_spots, WITHIN_M, after_stage=1)
        rules.append(away)
    return Instance(
        table.things,
        prompt("Rearrange to this {scene}.", scene=SceneImage(table.targets)),
        StagedJudge(rearranging.goals(table.targets, draw.strict), rules=rules),
    )
