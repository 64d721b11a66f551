"""Which thing each pixel shows, by what it is for in the episode: what is to be moved, its target, the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pytest_vla.kit.goals import StagedJudge
from pytest_vla.kit.layout import distance

from .kit.features import first_goal, movers
from .kit.sweep import SweepJudge
from .world import FLOOR_ID, NOTHING_ID, TABLE_ID

if TYPE_CHECKING:
    from .env import VimaEnv

BACKDROP = {FLOOR_ID: "floor", TABLE_ID: "table", NOTHING_ID: "nothing"}
AT_M = 0.02  # a thing whose middle is so near to where another belongs is its target


def segments(env: VimaEnv, camera: str) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Numbers by pixel and their names."""
    moved, targets = movers(env.instance), _targets(env)
    names = dict(BACKDROP)
    for label, number in env.ids.items():
        names[number] = "object to move" if label in moved else "target" if label in targets else "distractors"
    return env.table.views(env.ids).segmentation[camera], names


def _targets(env: VimaEnv) -> set[str]:
    """Things that stand where something is to go: containers, and what is to be put aside."""
    judge = env.instance.judge
    if isinstance(judge, SweepJudge):
        spots = [first_goal(env.instance)[1]]
    else:
        assert isinstance(judge, StagedJudge)
        spots = [goal.spot for stage in judge.stages for goal in stage]
    return {thing.label for thing in env.instance.things if any(distance(thing.spot, spot) < AT_M for spot in spots)}
