"""LIBERO's half on our side: lists, limits, assets and axes, for which no simulator is needed."""

import pytest
from pytest_vla.suites.libero import assets, axes
from pytest_vla.suites.libero.benchmark import ASSETS_VARIABLE, STEP_LIMITS

from pytest_vla.isolate.environment import environment
from pytest_vla.perturb import AXES
from pytest_vla.registry import get_suite
from pytest_vla.suite import provide

TASK = ("put_the_bowl_on_the_plate", "libero_goal")


@pytest.fixture
def suite():
    return get_suite("libero")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of assets that holds nothing yet."""
    monkeypatch.delenv(ASSETS_VARIABLE, raising=False)
    provide([f"libero={tmp_path}"])
    yield tmp_path
    provide()


def test_130_tasks_in_five_partitions_and_none_in_two(suite):
    counts = {name: len(found) for name, found in assets.tasks().items()}
    assert counts == {"libero_spatial": 10, "libero_object": 10, "libero_goal": 10, "libero_10": 10, "libero_90": 90}
    assert len(suite.tasks()) == 130
    assert "libero_90" not in suite.default_partitions()


def test_step_limits_are_the_published_ones(suite):
    limits = {partition: {suite.step_limit(task) for task in found} for partition, found in assets.tasks().items()}
    assert limits == {partition: {limit} for partition, limit in STEP_LIMITS.items()}
    assert STEP_LIMITS["libero_10"] == 520


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("put_the_cream_cheese_in_the_bowl", "put the cream cheese in the bowl"),
        ("KITCHEN_SCENE10_close_the_top_drawer_of_the_cabinet", "close the top drawer of the cabinet"),
        (
            "LIVING_ROOM_SCENE2_pick_up_the_milk_and_put_it_in_the_basket",
            "pick up the milk and put it in the basket",
        ),
    ],
)
def test_a_policy_is_told_the_name_of_the_task_without_its_scene(task, words):
    assert assets.instruction(task) == words


def test_files_that_are_not_the_published_ones_are_found(folder):
    names = list(assets.needed(("libero_object",)))
    for name in names[1:]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a stand-in")
    found = assets.check(folder, ("libero_object",))
    assert found.absent == (names[0],)
    assert len(found.different) == len(names) - 1 == found.count - 1


def test_a_run_with_other_assets_is_not_comparable_and_says_why(suite, folder, monkeypatch):
    monkeypatch.setattr(type(suite), "_made_with", {"environment": "libero-x"})
    made = suite.provenance()
    assert made["not comparable"].startswith("169 of 169 asset files are not the published ones, such as ")
    monkeypatch.setattr("pytest_vla.suites.libero.benchmark.check", lambda folder, parts: assets.Check(169, (), ()))
    assert suite.provenance() == {"environment": "libero-x", "assets": "published"}


def test_without_assets_the_skip_has_the_command(suite, monkeypatch):
    monkeypatch.delenv(ASSETS_VARIABLE, raising=False)
    provide()
    missing = suite._missing_data()
    assert missing is not None
    assert "lerobot/libero-assets" in missing.install
    assert "--vla-data=libero=DIR" in missing.install


def test_an_asset_that_is_absent_is_a_skip_of_its_partition_that_names_the_file(suite, folder, monkeypatch):
    monkeypatch.setattr(type(suite), "missing", lambda suite: None)
    monkeypatch.setattr(type(suite), "_missing_environment", lambda suite, name: None)
    assets.lacking.cache_clear()
    for name in assets.needed(("libero_goal",)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (folder / "textures" / "light-gray-plaster.png").unlink()
    assert suite.missing_in(TASK[0]) is None, "a wall has a stand-in"
    missing = suite.missing_in("pick_up_the_milk_and_place_it_in_the_basket")
    absent = next(name for name in assets.needed(("libero_object",)) if not (folder / name).exists())
    assert missing.module == f"'{folder / absent}'"
    assert "lerobot/libero-assets" in missing.install


def test_the_package_is_installed_without_what_it_needs_for_training():
    declared = environment("libero")
    assert [line.partition("==")[0] for line in declared.alone] == ["hf-libero", "robosuite", "bddl"]
    assert not any("torch" in line for line in (*declared.requirements, *declared.lock))


def test_changes_are_plain_data_that_adds_up(suite):
    key = suite.episode(*TASK, 3, "camera.yaw=3,camera.orbit=1,light.colour=-8,object.mass=8")
    assert axes.changes(key) == {
        "camera": {"yaw": 6 + 9.375},
        "light": {"colour": [pytest.approx(0.2), pytest.approx(1 - 0.8 / 3), 1.0]},
        "mass": 3.0,
    }
    assert axes.changes(suite.episode(*TASK, 3)) == {}


def test_the_same_key_moves_things_the_same_way(suite):
    first, second = (axes.changes(suite.episode(*TASK, 3, "layout.objects=8,robot.start=4")) for _ in range(2))
    assert first == second
    other = axes.changes(suite.episode(*TASK, 4, "layout.objects=8,robot.start=4"))
    assert other["objects"]["seed"] != first["objects"]["seed"]


def test_a_contradiction_asks_for_another_task_of_the_partition(suite):
    told = axes.changes(suite.episode(*TASK, 0, "language.contradict=2"))["instruction"]
    assert told != assets.instruction(TASK[0])
    assert told in {assets.instruction(task) for task in assets.tasks()["libero_goal"]}


def test_every_axis_of_the_table_is_offered_and_known(suite):
    assert set(axes.TABLE) <= set(suite.axes()) <= set(AXES)
