"""What a test level holds out must not be seen in training: never under strict rules, and listed where it is."""

import pytest
from pytest_vla.suites.vima.kit.partitions import BASES, L2, L3, L4, SEEN, TRAIN
from pytest_vla.suites.vima.kit.prompt import ObjectImage
from pytest_vla.suites.vima.objects import OBJECTS
from pytest_vla.suites.vima.tasks import TASKS
from pytest_vla.suites.vima.textures import NEUTRAL, TEXTURE_SETS

from pytest_vla.episode import EpisodeKey

TRAINED = [task for task in TASKS.values() if TRAIN in task.partitions]
NEVER_TRAINED = set(TEXTURE_SETS["ALL49"]) - set(TEXTURE_SETS["A"]) - set(TEXTURE_SETS["B"])
LEVEL_2_PAIRS = {(s, t) for s in SEEN for t in TEXTURE_SETS["B"]} | {(s, t) for s in BASES for t in TEXTURE_SETS["A"]}
LEAKING = {"visual_manipulation", "scene_understanding", "novel_noun", "rearrange", "rearrange_then_restore"}


def shown(task, partition, count, strict):
    """Every look on the table and in the prompts of some episodes."""
    for index in range(count):
        instance = task.instance(EpisodeKey("vima", task.name, partition, index), strict=strict)
        yield from (thing.look for thing in instance.things)
        for asset in instance.prompt.assets.values():
            yield from [asset.look] if isinstance(asset, ObjectImage) else (thing.look for thing in asset.things)


def leaks(task, count, strict):
    """What training shows although a test level holds it out: unseen shapes, unseen textures, level 2 pairs."""
    found = set()
    for look in shown(task, TRAIN, count, strict):
        if OBJECTS[look.shape].novel:
            found.add(("shape", look.shape))
        if look.texture in NEVER_TRAINED:
            found.add(("texture", look.texture))
        if look.kind in LEVEL_2_PAIRS and look.texture != NEUTRAL.name:
            found.add(("pair", *look.kind))
    return found


@pytest.mark.parametrize("task", TRAINED, ids=lambda task: task.name)
def test_strict_training_shows_nothing_that_is_held_out(task):
    assert not leaks(task, 60, strict=True)


@pytest.mark.proof
@pytest.mark.parametrize("task", TRAINED, ids=lambda task: task.name)
def test_a_thousand_strict_training_episodes_show_nothing_that_is_held_out(task):
    assert not leaks(task, 1000, strict=True)


def test_faithful_training_leaks_through_the_distractors_of_five_tasks_and_never_a_shape():
    found = {task.name: leaks(task, 60, strict=False) for task in TRAINED}
    assert {name for name, leaked in found.items() if leaked} == LEAKING
    kinds = {name: {leak[0] for leak in found[name]} for name in LEAKING}
    assert kinds["rearrange"] == kinds["rearrange_then_restore"] == {"pair", "texture"}
    assert kinds["visual_manipulation"] == kinds["scene_understanding"] == kinds["novel_noun"] == {"pair"}


def test_the_task_objects_of_training_never_leak():
    for task in TRAINED:
        train = task.partitions[TRAIN]
        level2 = task.partitions[L2]
        for shape in train.dragged:
            for texture in train.dragged_textures:
                assert not level2.shows(shape, texture), (task.name, shape, texture)
        if L3 in task.partitions:
            common = set(train.dragged) & set(task.partitions[L3].dragged)
            assert common == ({"shorter block"} if task.name == "same_shape" else set())


def test_held_out_tasks_have_no_training_partition():
    assert not [task.name for task in TASKS.values() if L4 in task.partitions and TRAIN in task.partitions]
