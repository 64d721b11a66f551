"""What is drawn agrees with the specification: counts and frequencies (places: test_vima_placement)."""

import math
from collections import Counter

import pytest
from pytest_vla.suites.vima.benchmark import VimaSuite
from pytest_vla.suites.vima.tasks import TASKS
from scipy import stats

from pytest_vla.episode import EpisodeKey

CELLS = VimaSuite().cells()
ALPHA = 1e-4  # of each test; there are some hundreds
GRID_TASKS = ("follow_order", "follow_motion", "manipulate_old_neighbor", "pick_in_order_then_restore")


def instances(task, partition, count, strict=False):
    return [TASKS[task].instance(EpisodeKey("vima", task, partition, i), strict=strict) for i in range(count)]


def uniform(values, options):
    """p of the values being drawn from the options with equal chances."""
    count = Counter(values)
    assert set(count) <= set(options), set(count) - set(options)
    observed = [count[option] for option in options]
    return 1.0 if len(observed) == 1 else stats.chisquare(observed).pvalue


def weighted(values, weights):
    count, total = Counter(values), len(values)
    return stats.chisquare([count[v] for v in weights], [w * total for w in weights.values()]).pvalue


def look(instance, label):
    return next(thing.look for thing in instance.things if thing.label == label)


def check_cell(task, partition, count):
    drawn = instances(task, partition, count)
    choices = TASKS[task].partitions[partition]
    labels = {thing.label for instance in drawn for thing in instance.things}
    if "base" in labels and task != "scene_understanding":
        assert uniform([look(i, "base").shape for i in drawn], choices.bases) > ALPHA
        assert uniform([look(i, "base").texture for i in drawn], choices.base_textures) > ALPHA
    if "dragged" in labels and task not in ("novel_adj", "novel_adj_and_noun"):
        assert uniform([look(i, "dragged").shape for i in drawn], choices.dragged) > ALPHA
        if task != "scene_understanding":
            assert uniform([look(i, "dragged").texture for i in drawn], choices.dragged_textures) > ALPHA
    if task not in GRID_TASKS and not task.startswith("sweep"):
        yaws = [thing.yaw / (2 * math.pi) for instance in drawn for thing in instance.things[:1]]
        assert stats.kstest(yaws, "uniform").pvalue > ALPHA
    COUNTS.get(task, lambda drawn: None)(drawn)


def rearranging(drawn):
    objects = [sum(thing.label.startswith("object") for thing in i.things) for i in drawn]
    assert weighted(objects, {1: 0.4, 2: 0.4, 3: 0.2}) > ALPHA
    alone = [i for i in drawn if len(i.judge.stages[0]) == 1]
    assert all(any(t.label == "distractor" for t in i.things) for i in alone)
    on_target = [math.dist(i.things[-1].spot, i.judge.stages[0][0].spot) < 1e-9 for i in alone]
    assert stats.binomtest(sum(on_target), len(alone), 0.5).pvalue > ALPHA


def sweeping(drawn):
    blocks = [len(i.judge.targets) for i in drawn]
    assert weighted(blocks, {1: 0.5, 2: 0.25, 3: 0.25}) > ALPHA
    assert all(len(i.judge.others) == len(i.judge.targets) for i in drawn)
    words = [i.prompt.text.split()[1] for i in drawn if len(i.judge.targets) == 3]
    assert uniform(words, ["any", "one", "two", "three", "all"]) > ALPHA
    assert (
        uniform([i.prompt.text.split()[1] for i in drawn if len(i.judge.targets) == 1], ["any", "one", "all"]) > ALPHA
    )


def following(drawn):
    moves = [(i.things[0].spot, *((goal.thing, goal.spot) for (goal,) in i.judge.stages)) for i in drawn]
    legal = {"follow_order": 24, "follow_motion": 20}[drawn_task(drawn)]
    assert len(set(moves)) == legal
    assert uniform(moves, sorted(set(moves))) > ALPHA


def drawn_task(drawn):
    return "follow_order" if "Stack" in drawn[0].prompt.text else "follow_motion"


def novel(drawn):
    less = [" less " in i.prompt.text for i in drawn]
    assert stats.binomtest(sum(less), len(less), 0.5).pvalue > ALPHA
    height = [look(i, "dragged").scale != (1.0, 1.0, 1.0) for i in drawn]
    assert stats.binomtest(sum(height), len(height), 0.5).pvalue > ALPHA
    for instance in drawn:
        target, contrast = look(instance, "dragged"), look(instance, "contrast")
        assert target.shape == contrast.shape
        assert target != contrast
        if target.scale != contrast.scale:
            assert abs(abs(target.scale[2] - contrast.scale[2]) - 2.0) < 1e-9
            assert 0.3 <= min(target.scale[2], contrast.scale[2]) <= 0.4
        else:
            assert {target.texture, contrast.texture} == {target.texture.removeprefix("dark "),
                                                          f"dark {target.texture.removeprefix('dark ')}"}  # fmt: skip


def twisting(drawn):
    targets = [len(i.judge.stages[0]) for i in drawn]
    assert stats.binomtest(targets.count(1), len(targets), 0.5).pvalue > ALPHA
    assert all(len(i.things) == 3 for i in drawn)


def turning(drawn):
    angles = [int(i.prompt.text.split()[-2]) for i in drawn]
    assert uniform(angles, [30, 60, 90, 120, 150]) > ALPHA


def picking(drawn):
    assert all(len({t.look.texture for t in i.things[:6]}) == 6 for i in drawn)
    assert all(len({t.look.shape for t in i.things[:6]}) == 1 for i in drawn)


COUNTS = {
    "rearrange": rearranging, "rearrange_then_restore": rearranging, "sweep_without_exceeding": sweeping,
    "sweep_without_touching": sweeping, "follow_order": following, "follow_motion": following, "novel_adj": novel,
    "novel_adj_and_noun": novel, "twist": twisting, "rotate": turning, "pick_in_order_then_restore": picking,
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_frequencies_agree_with_the_specification(task):
    check_cell(task, list(TASKS[task].partitions)[-1], 200)


@pytest.mark.proof
@pytest.mark.parametrize(("task", "partition"), CELLS)
def test_frequencies_of_every_cell_agree_with_the_specification(task, partition):
    check_cell(task, partition, 1000)
