"""Put an object away, then the one that used to be its neighbour."""

from __future__ import annotations

from pytest_vla.kit.goals import At, InThisOrder, KeepDistractorsAway, StagedJudge

from ..kit.draw import Draw, looks
from ..kit.partitions import all_levels
from ..kit.prompt import ObjectImage, prompt
from ..kit.scene import STAY_ON_TABLE, Instance
from ..kit.task import task

WITHIN_M = 0.10
ROWS_X_M, COLUMNS_Y_M = (0.375, 0.5, 0.625), (-0.25, 0.0)
BASE_SPOT = (0.5, 0.25)
DIRECTIONS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
OBJECTS_ON_GRID = 5


@task(group="require_memory", oracle_steps=4, partitions=all_levels())
def manipulate_old_neighbor(draw: Draw) -> Instance:
    """Five objects on a grid of six cells; north is towards the robot, up in the images."""
    base = draw.base()
    cells = draw.some([(row, column) for row in range(3) for column in range(2)], OBJECTS_ON_GRID)
    things = {
        cell: draw.put(f"object_{i}", look, spot=(ROWS_X_M[cell[0]], COLUMNS_Y_M[cell[1]]), yaw=0.0)
        for i, (cell, look) in enumerate(
            zip(cells, draw.some(looks(draw.choices.dragged, draw.choices.dragged_textures), len(cells)), strict=True)
        )
    }
    neighbours = {
        (cell, name): (cell[0] + down, cell[1] + right) for cell in cells for name, (down, right) in DIRECTIONS.items()
    }
    first = draw.one(cells)
    direction = draw.one([name for (cell, name), other in neighbours.items() if cell == first and other in things])
    dragged, neighbour = things[first], things[neighbours[first, direction]]
    draw.put("base", base, spot=BASE_SPOT, yaw=0.0, fixed=True)
    others = tuple(thing.label for thing in things.values() if thing not in (dragged, neighbour))
    return Instance(
        tuple(draw.things),
        prompt(
            "First put {dragged_obj} into {base_obj} then put the object that was previously "
            f"at its {direction} into the same {{base_obj}}.",
            dragged_obj=ObjectImage(dragged.look),
            base_obj=ObjectImage(base),
        ),
        StagedJudge(
            [At(dragged.label, BASE_SPOT, WITHIN_M), At(neighbour.label, BASE_SPOT, WITHIN_M)],
            rules=[
                STAY_ON_TABLE,
                InThisOrder(),
                KeepDistractorsAway(others, (dragged.label, neighbour.label), (BASE_SPOT,), WITHIN_M),
            ],
        ),
        places="relative",
    )
