"""Objects stand where the specification says: every position of every cell, as ranks that must be uniform.

An object is placed uniformly over the places that the objects before it leave. So the share of these places that lie,
say, nearer to the robot is a uniform number, whatever the scene; over many episodes such shares must look uniform.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from placement_spec import CELL_M, PILES, X, Y, chances, outline, overlap_m, placements, role, sweep_allows
from pytest_vla.suites.vima.benchmark import VimaSuite
from pytest_vla.suites.vima.kit import placement
from pytest_vla.suites.vima.kit.draw import Draw
from pytest_vla.suites.vima.kit.placement import NoRoom
from pytest_vla.suites.vima.kit.scene import Look, Thing
from pytest_vla.suites.vima.objects import OBJECTS
from pytest_vla.suites.vima.tasks import TASKS
from scipy import stats

from pytest_vla.episode import EpisodeKey

CELLS = VimaSuite().cells()
FALSE_ALARM = 0.01  # the chance that any of all tests of all cells rejects a right sampler (Bonferroni)
CIRCLE = [(0.5 + 0.19 * math.cos(math.radians(a)), 0.19 * math.sin(math.radians(a))) for a in range(0, 360, 72)]
NEIGHBOUR_GRID = [(x, y) for x in (0.375, 0.5, 0.625) for y in (-0.25, 0.0)]
BASE_GRID = [(x, y) for x in (0.375, 0.625) for y in (-0.25, 0.0, 0.25)]
SWEEP_ORIGINS = [(0.57, -0.22), (0.58, 0.03)]
SWEEP_POINTS = 150  # on a side of the squares that blocks are drawn in


@dataclass
class Episode:
    """The first draw of an episode. Where it found no room for an object, those before it stand there all the same:
    leaving such draws out would favour the scenes that are roomy."""

    things: list[Thing]
    scene: list[Thing]
    instance: object | None


def first_draw(task, partition, index):
    module = import_module(f"pytest_vla.suites.vima.tasks.{task}")
    tables = []

    def recorded(*args):
        tables.append(Draw(*args))
        return tables[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Draw", recorded)
        table = Draw(EpisodeKey("vima", task, partition, index).rng("scene"), TASKS[task].partitions[partition])
        try:
            instance = TASKS[task].draw(table)
        except NoRoom:
            instance = None
    return Episode(table.things, tables[0].things if tables else [], instance)


# --- ranks ------------------------------------------------------------------------------------------------------------


def add_ranks(ranks, name, spot, points, chance, others, rng):
    """The chance of a point that is nearer to the robot than the spot, further left, nearer to the middle, or nearer to
    another object. Ties are broken at random, so each is uniform; those of all objects are also taken together."""
    (x, y), middle = np.column_stack([points, spot]), points.mean(axis=1)
    views = {"x": x, "y": y, "from the middle": np.hypot(x - middle[0], y - middle[1])}
    if others:
        views["from the others"] = np.min([np.hypot(x - o.spot[0], y - o.spot[1]) for o in others], axis=0)
    for view, values in views.items():
        values, drawn = values[:-1], values[-1]
        share = chance[values < drawn].sum() + rng.uniform() * chance[values == drawn].sum()
        for whose in (name, "all"):
            ranks[f"{whose}, {view}"].append(share / chance.sum())


def add_placement(ranks, placed, rng):
    x, y = placed.thing.spot
    at = round((x - X[0]) / CELL_M), round((y - Y[0]) / CELL_M)
    assert math.dist(placed.thing.spot, (X[at[0]], Y[at[1]])) < 1e-9
    chance = chances(placed)
    assert chance[at] > 0, f"{placed.thing} is not at a free place among {placed.among}"
    rows, columns = np.nonzero(chance)
    points = np.stack([X[rows], Y[columns]])
    add_ranks(ranks, placed.role, placed.thing.spot, points, chance[rows, columns], placed.among, rng)


def add_examples(ranks, instance):
    """The pictures that teach a twist show one object anywhere around the middle of the table."""
    for number in (1, 2, 3):
        before, after = (instance.prompt.assets[f"{when}_twist_{number}"].things[0] for when in ("before", "after"))
        assert before.spot == after.spot
        ranks["example, x"].append((before.spot[0] - 0.4375) / 0.125)
        ranks["example, y"].append((before.spot[1] + 0.375) / 0.75)


def add_sweep(ranks, task, things, rng):
    """Blocks in squares at two origins: their centres on the table, and none on top of another."""
    rectangle, line, *blocks = things
    if task == "sweep_without_touching":
        assert (rectangle.spot, line.spot) == ((0.39, 0.0), (0.496, 0.0))
        zone = 0.39 - 0.086, 0.39 + 0.086, 0.15
    else:
        assert rectangle.spot == (0.41, 0.0)
        ranks["line"].append((line.spot[0] - 0.3425) / (0.35 * 0.27))
        zone = line.spot[0] + 0.02 + 0.015, 0.41 + 0.135 + 0.015, 0.135
    here, there = SWEEP_ORIGINS if blocks[0].spot[1] < 0 else SWEEP_ORIGINS[::-1]
    steps = (np.arange(SWEEP_POINTS) + 0.5) / SWEEP_POINTS
    for number, block in enumerate(blocks):
        target = block.label.startswith("target")
        spread = 0.18 if target or task == "sweep_without_touching" else 0.09
        corner = here if target else there
        assert all(low <= value <= low + spread for value, low in zip(block.spot, corner, strict=True))
        alike = [other for other in blocks[:number] if role(other.label) == role(block.label)]
        rules = block.yaw, alike, None if target else zone
        assert sweep_allows(*map(np.asarray, block.spot), *rules)
        if target:
            ranks["yaw"].append(block.yaw / (2 * math.pi))
        square = np.stack(np.meshgrid(*(low + spread * steps for low in corner))).reshape(2, -1)
        points = square[:, sweep_allows(*square, *rules)]
        add_ranks(ranks, role(block.label), block.spot, points, np.ones(points.shape[1]), blocks[:number], rng)


# --- places out of a list ---------------------------------------------------------------------------------------------


def chosen(task, things):
    """Which of the listed places was taken, by name, with how many there are."""
    spots = [thing.spot for thing in things]
    if task == "follow_order":
        assert spots[:3] == PILES
        return {}
    if task == "follow_motion":
        assert spots[1] == (0.5, 0.0)
        return {"start": (index_of(spots[0], CIRCLE), 5)}
    if task == "manipulate_old_neighbor":
        cells = [index_of(spot, NEIGHBOUR_GRID) for spot in spots[:5]]
        assert len(set(cells)) == 5
        assert spots[5] == (0.5, 0.25)
        return {"first": (cells[0], 6), "second": (cells[1], 6), "empty": (sum(range(6)) - sum(cells), 6)}
    if task == "pick_in_order_then_restore":
        assert spots[:6] == BASE_GRID
        return {"own": (index_of(spots[6], BASE_GRID), 6)}
    if task.startswith("sweep"):
        return {"origin": (int(spots[2][1] > 0), 2)}
    return {}


def index_of(spot, spots):
    return next(i for i, other in enumerate(spots) if math.dist(spot, other) < 1e-9)


# --- tests ------------------------------------------------------------------------------------------------------------


def p_values(task, partition, count):
    """How well `count` episodes agree with the specification, by what was looked at."""
    rng, ranks, picks, options = np.random.default_rng(0), defaultdict(list), defaultdict(list), {}
    for index in range(count):
        episode = first_draw(task, partition, index)
        if task.startswith("sweep"):
            add_sweep(ranks, task, episode.things, rng)
        if task == "twist" and episode.instance:
            add_examples(ranks, episode.instance)
        for placed in placements(task, episode):
            add_placement(ranks, placed, rng)
        for name, (pick, number) in chosen(task, episode.things).items():
            picks[name].append(pick)
            options[name] = number
        instance = episode.instance or TASKS[task].instance(EpisodeKey("vima", task, partition, index))
        assert_apart_and_on_the_table(instance)
    found = {name: stats.kstest(values, "uniform").pvalue for name, values in ranks.items()}
    for name, values in picks.items():
        found[name] = stats.chisquare(np.bincount(values, minlength=options[name])).pvalue
    return found


def rejected(found):
    return {name: p for name, p in found.items() if p < FALSE_ALARM / len(CELLS) / len(found)}


def assert_apart_and_on_the_table(instance):
    painted_or_swept = ("three-sided rectangle", "line", "small block")
    solid = [thing for thing in instance.things if thing.look.shape not in painted_or_swept]
    for number, thing in enumerate(solid):
        low, high = outline(thing).min(axis=0), outline(thing).max(axis=0)
        on_table = (low >= (0.25, -0.5)).all() and (high <= (0.75, 0.5)).all()
        assert on_table or prescribed(thing, instance), thing
        for other in solid[:number]:
            contained = thing.z is not None
            assert contained or overlap_m(thing, other) < CELL_M, (thing, other)


def prescribed(thing, instance):
    """Places where an object may reach over the edge, because the specification wants it just there, whatever its size:
    the points of follow_motion, and for a distractor the target that it stands on."""
    scene = instance.prompt.assets.get("scene")
    on_target = scene is not None and thing.label == "distractor" and thing.spot == scene.things[0].spot
    return on_target or any(math.dist(thing.spot, point) < 1e-9 for point in CIRCLE)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_placement_agrees_with_the_specification(task, partition):
    assert not rejected(p_values(task, partition, 60))


@pytest.mark.proof
@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_placement_of_every_cell_agrees_with_the_specification(task, partition):
    assert not rejected(p_values(task, partition, 1000))


def test_a_reset_is_its_first_draw_that_has_room():
    for task, partition in CELLS:
        things = TASKS[task].instance(EpisodeKey("vima", task, partition, 0)).things
        episode = first_draw(task, partition, 0)
        assert episode.instance is None or episode.instance.things == things


def shrunk(rng, free, row, column):
    """A twentieth nearer to the middle of the table, where that is free."""
    moved = round(79.5 + 0.95 * (row - 79.5)), round(159.5 + 0.95 * (column - 159.5))
    return moved if free[moved] else (row, column)


def leaning(rng, free, row, column):
    """Every fourth time the nearer to the robot of two."""
    return min((row, column), one_of(rng, free)) if rng.uniform() < 1 / 4 else (row, column)


def one_of(rng, free):
    return divmod(int(rng.choice(np.flatnonzero(free))), free.shape[1])


@pytest.mark.slow
@pytest.mark.parametrize("biased", [shrunk, pytest.param(leaning, marks=pytest.mark.proof)])
def test_a_biased_sampler_is_found_out(monkeypatch, biased):
    def draw_spot(rng, free):
        row, column = biased(rng, free, *one_of(rng, free))
        return float(X[row]), float(Y[column])

    monkeypatch.setattr(placement, "draw_spot", draw_spot)
    found = p_values("twist", "train", 1000)
    assert rejected(found), found


@pytest.mark.proof
def test_a_biased_sweep_is_found_out(monkeypatch):
    monkeypatch.setattr(Draw, "uniform", lambda self, low, high: low + (high - low) * (0.05 + 0.9 * self.rng.uniform()))
    assert rejected(p_values("sweep_without_touching", "novel_task_generalization", 1000))


def test_too_small_a_margin_is_found_out(monkeypatch):
    monkeypatch.setattr(
        placement, "nominal_size", lambda rng, shape: tuple(0.9 * s for s in OBJECTS[shape].size_low[:2])
    )
    with pytest.raises(AssertionError, match="not at a free place"):
        p_values("rotate", "train", 200)


def test_a_full_table_says_that_there_is_no_room():
    spots = [(x, y) for x in (0.33, 0.5, 0.67) for y in np.arange(-0.5, 0.6, 0.15)]
    things = [Thing(str(spot), Look("container", "red"), spot) for spot in spots]
    with pytest.raises(NoRoom):
        placement.free_spot(np.random.default_rng(0), Look("bowl", "red"), 0.0, things)
