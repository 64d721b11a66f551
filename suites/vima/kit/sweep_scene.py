"""The table of a sweeping task: a zone, a line, blocks of two textures, and how many of which are wanted."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vla.kit.layout import Spot, distance

from .draw import Draw
from .placement import NoRoom
from .prompt import ObjectImage, prompt
from .scene import WORKSPACE_X_M, Instance, Look, Thing
from .sweep import Area, SweepJudge

ORIGINS = ((0.57, -0.22), (0.58, 0.03))
TARGET_SPREAD_M = 0.18
GAP_M = 0.043  # two blocks of 3 cm that stand apart, however they are turned
STACKED_M = 0.01  # physics lifts one of two that are nearer onto the other
EDGE_M = 0.022
PARTED_M = 0.022  # blocks that overlap are pushed apart by no more than this
LINE_Z_M = 0.004  # just above the rectangle that it crosses
COUNTS, COUNT_WEIGHTS = (1, 2, 3), (0.5, 0.25, 0.25)
NUMBERS = {"any": 1, "one": 1, "two": 2, "three": 3}
PROMPT_SCALE = 7.0
TRIES = 100


@dataclass(frozen=True, slots=True)
class Layout:
    """What the two sweeping tasks differ in."""

    word: str
    rectangle: Spot
    rectangle_size: Spot
    line: Spot
    line_size: Spot
    line_yaw: float
    line_area: Area
    zone: Area
    others_spread_m: float


def sweep_instance(draw: Draw, layout: Layout) -> Instance:
    """Blocks of one texture to be swept near one origin, as many of another texture near the other."""
    texture = draw.dragged_texture()
    other_texture = draw.dragged_texture(not_in=[texture])
    zone_texture = draw.base_texture()
    line_texture = draw.base_texture(not_in=[zone_texture])
    count = draw.weighted(COUNTS, COUNT_WEIGHTS)
    determiner = draw.one([word for word, number in NUMBERS.items() if number <= count] + ["all"])
    rectangle = Look("three-sided rectangle", zone_texture, size=layout.rectangle_size)
    line = Look("line", line_texture, size=layout.line_size)
    block = Look("small block", texture)
    here, there = draw.some(ORIGINS, 2)
    draw.put("rectangle", rectangle, spot=layout.rectangle, yaw=0.0, fixed=True)
    draw.put("line", line, spot=layout.line, yaw=layout.line_yaw, fixed=True, z=LINE_Z_M)
    targets = [_scatter(draw, f"target_{i}", block, here, TARGET_SPREAD_M) for i in range(count)]
    stranger = Look("small block", other_texture)
    others = [_scatter(draw, f"other_{i}", stranger, there, layout.others_spread_m, layout.zone) for i in range(count)]
    return Instance(
        tuple(draw.things),
        prompt(
            f"Sweep {determiner} {{swept_obj}} into {{bounds}} without {layout.word} {{constraint}}.",
            swept_obj=ObjectImage(Look("small block", texture, (PROMPT_SCALE,) * 3)),
            bounds=ObjectImage(rectangle),
            constraint=ObjectImage(line),
        ),
        SweepJudge(targets, others, NUMBERS.get(determiner, count), layout.zone, layout.line_area, strict=draw.strict),
    )


def _scatter(draw: Draw, label: str, look: Look, origin: Spot, spread_m: float, keep_out: Area | None = None) -> str:
    """A block somewhere in the square at `origin`, turned at random, its centre on the table.

    Blocks may touch, and even overlap as long as physics parts them before the first look. Strict rules keep all of a
    block on the table, and blocks apart. `keep_out` is where a block that may not be swept would be lost.
    """
    for _ in range(TRIES):
        spot = origin[0] + draw.uniform(0, spread_m), origin[1] + draw.uniform(0, spread_m)
        block = Thing(label, look, spot, draw.yaw())
        blocks = [thing for thing in draw.things if thing.look.shape == look.shape]
        on_table = spot[0] <= WORKSPACE_X_M[1] - (EDGE_M if draw.strict else 0.0)
        apart = all(distance(thing.spot, spot) > (GAP_M if draw.strict else STACKED_M) for thing in blocks)
        if on_table and apart and not _may_be_lost(block, blocks, keep_out):
            draw.put(label, look, spot=spot, yaw=block.yaw)
            return label
    raise NoRoom


def _may_be_lost(block: Thing, blocks: list[Thing], zone: Area | None) -> bool:
    """Whether a block starts in the zone, or it and one that it overlaps where they may be parted into it or off the
    table."""
    crowding = [thing for thing in blocks if distance(thing.spot, block.spot) < GAP_M]
    if not crowding:
        return zone is not None and zone.samples_in(block.pose) > 0
    return any(
        thing.spot[0] > WORKSPACE_X_M[1] - PARTED_M or (zone and zone.near(thing.pose, PARTED_M + GAP_M / 2))
        for thing in (block, *crowding)
    )
