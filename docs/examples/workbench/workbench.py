"""A MuJoCo suite with three tasks: press a button, put a block on a pad, open a drawer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pytest_vla.kit.bench import Bench, BenchSuite, Draw, Instance, task
from pytest_vla.kit.gantry import Gantry
from pytest_vla.kit.goals import At, LeaveAlone, LetGo, Past, StagedJudge, TableState
from pytest_vla.kit.parts import Block, Button, Drawer, Pad
from pytest_vla.kit.waypoints import CLOSED, GRASP_ACTIONS, OPEN, Waypoint, carry
from pytest_vla.perturb import COLOURS

PRESSED_M = 0.005
OPENED_M = 0.04
WITHIN_M = 0.015
OPEN_M = 0.03
TRAVEL_M = 0.06
GRASP_M = 0.008
NAMES = ("red", "yellow", "green", "blue")

BENCH = Bench(
    Gantry(low_m=(-0.20, -0.20, 0.002), high_m=(0.20, 0.20, 0.12), start_m=(0.0, 0.15, 0.10)),
    low=(-0.14, -0.06),
    high=(0.14, 0.10),
)
Look = Callable[[], TableState]


@task(40)
def press_button(draw: Draw) -> Instance:
    """Press the button of the named colour; the other one is to be left alone."""
    name, other = draw.some(NAMES, 2)
    button, _ = (draw.put(Button, f"{colour}_button", rgb=COLOURS[colour]) for colour in (name, other))

    def plan(look: Look) -> Iterator[Waypoint]:
        x, y = button.spot
        yield Waypoint((x, y, TRAVEL_M), CLOSED)
        yield Waypoint((x, y, button.top_m - button.travel_m), CLOSED)
        yield Waypoint((x, y, TRAVEL_M), CLOSED)

    return Instance(
        draw.parts,
        f"press the {name} button",
        StagedJudge([Past(button.label, PRESSED_M)], rules=[LeaveAlone((f"{other}_button",), PRESSED_M)]),
        plan,
    )


@task(60)
def place_block(draw: Draw) -> Instance:
    """Put the block of the named colour on the pad; another block stands by."""
    name, other = draw.some(NAMES, 2)
    pad = draw.put(Pad, "pad")
    block, _ = (draw.put(Block, f"{colour}_block", rgb=COLOURS[colour]) for colour in (name, other))
    z = block.half_m[2]

    def plan(look: Look) -> Iterator[Waypoint]:
        heights = {"travel_m": TRAVEL_M, "grasp_m": GRASP_M, "place_m": GRASP_M + 0.001}
        return carry(lambda: look()[block.label].xy, lambda: look().tip, pad.spot, **heights)

    return Instance(
        draw.parts,
        f"put the {name} block on the pad",
        StagedJudge([LetGo(At(block.label, pad.spot, WITHIN_M, z=z, z_within_m=z / 2), OPEN_M)]),
        plan,
    )


@task(60)
def open_drawer(draw: Draw) -> Instance:
    """Open the drawer; a block stands somewhere else."""
    drawer = draw.put(Drawer, "drawer", rgb=COLOURS[draw.one(NAMES)])
    draw.put(Block, "block")

    def plan(look: Look) -> Iterator[Waypoint]:
        post = drawer.half_m[1] + drawer.post_m
        x, y = drawer.spot[0], drawer.spot[1] - post - look().joints["drawer"]
        yield Waypoint((x, y, TRAVEL_M), OPEN)
        yield Waypoint((x, y, GRASP_M), OPEN)
        yield Waypoint((x, y, GRASP_M), CLOSED, GRASP_ACTIONS)
        yield Waypoint((x, drawer.spot[1] - post - drawer.travel_m, GRASP_M), CLOSED)
        yield Waypoint((x, drawer.spot[1] - post - drawer.travel_m, GRASP_M), OPEN)

    return Instance(draw.parts, "open the drawer", StagedJudge([Past("drawer", OPENED_M)]), plan)


class WorkbenchSuite(BenchSuite):
    name = "workbench"
    bench = BENCH
    templates = (press_button, place_block, open_drawer)
