"""LIBERO-plus and LIBERO-PRO, our half: names, instructions and lists, on small checkouts made up here."""

import json

import pytest
from pytest_vla.suites.libero.assets import tasks
from pytest_vla.suites.libero_plus.benchmark import LIST, PACKAGE, LiberoPlusSuite
from pytest_vla.suites.libero_plus.names import base_of, rewords
from pytest_vla.suites.libero_pro.benchmark import LiberoProSuite, instruction_in

BOWL = "pick_up_the_black_bowl_from_table_center_and_place_it_on_the_plate"


@pytest.mark.parametrize(
    ("task", "base"),
    [
        (f"{BOWL}_view_0_0_100_2_352_initstate_0", BOWL),
        (f"{BOWL}_view_0_0_100_0_0_initstate_17_noise_31", BOWL),
        (f"{BOWL}_table_12", BOWL),
        (f"{BOWL}_tb_3", BOWL),
        (f"{BOWL}_light_5", BOWL),
        (f"{BOWL}_language_7", BOWL),
        (f"{BOWL}_add_16", BOWL),
        (f"{BOWL}_level2_sample3", BOWL),
        ("turn_on_the_stove_moved_level3_sample1", "turn_on_the_stove"),
        (BOWL, BOWL),
    ],
)
def test_what_is_off_about_a_task_is_behind_its_name(task, base):
    """Upstream makes the instruction from all of the name: "... on the plate view 0 0 100 2 352 initstate 0"."""
    assert base_of(task) == base


def test_no_task_of_libero_loses_a_part_of_its_name():
    assert all(base_of(task) == task for partition in tasks().values() for task in partition)


@pytest.fixture
def plus(tmp_path, monkeypatch):
    """A checkout with two tasks, and the environment taken for granted."""
    package = tmp_path / PACKAGE
    for folder in ("assets", "benchmark", "envs"):
        (package / folder).mkdir(parents=True)
    (package / "envs" / "env_wrapper.py").touch()
    listed = [
        {"id": 1, "name": f"{BOWL}_table_1", "category": "Background Textures", "difficulty_level": 2},
        {"id": 2, "name": f"{BOWL}_language_4", "category": "Language Instructions"},
    ]
    (tmp_path / LIST).write_text(json.dumps({"libero_spatial": listed}))
    monkeypatch.setenv("LIBERO_PLUS_ROOT", str(tmp_path))
    monkeypatch.setattr(LiberoPlusSuite, "_missing_environment", lambda self, name: None)
    return LiberoPlusSuite()


def test_the_tasks_are_upstreams_list_by_dimension(plus):
    assert plus.cells() == [(f"{BOWL}_table_1", "background"), (f"{BOWL}_language_4", "language")]
    assert plus.listed[f"{BOWL}_table_1"].level == 2
    assert plus.listed[f"{BOWL}_language_4"].level is None
    assert plus.step_limit(f"{BOWL}_table_1") == 220


def test_a_policy_is_not_told_the_suffix_and_the_run_says_so(plus):
    words = plus.options(f"{BOWL}_table_1")["instruction"]
    assert words == "pick up the black bowl from table center and place it on the plate"
    assert rewords(f"{BOWL}_language_4")
    assert plus.options(f"{BOWL}_language_4")["instruction"] == "", "that of its bddl file"
    assert "without the suffix" in plus.provenance()["instruction"]


@pytest.mark.parametrize(
    ("suite", "variable"), [(LiberoPlusSuite, "LIBERO_PLUS_ROOT"), (LiberoProSuite, "LIBERO_PRO_ROOT")]
)
def test_without_a_checkout_it_is_one_item_that_says_why(suite, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(suite, "_missing_environment", lambda self, name: None)
    made = suite()
    assert made.cells() == [("not_installed", "default")]
    assert "git clone" in made.missing().install
    assert f"--vla-data={made.name}=DIR" in made.missing().install


def test_changed_suites_of_pro_are_partitions_and_their_words_are_those_of_the_files(tmp_path, monkeypatch):
    package = tmp_path / PACKAGE
    (package / "assets").mkdir(parents=True)
    for folder in ("libero_goal", "libero_goal_swap", "libero_goal_lan", "libero_10_task", "somebody"):
        (package / "bddl_files" / folder).mkdir(parents=True)
        (package / "bddl_files" / folder / "turn_on_the_stove.bddl").write_text(
            f"(define (problem x)\n (:domain robosuite)\n (:language Switch the stove on, {folder})\n (:regions))"
        )
        if folder != "libero_10_task":
            (package / "init_files" / folder).mkdir(parents=True)
    monkeypatch.setenv("LIBERO_PRO_ROOT", str(tmp_path))
    monkeypatch.setattr(LiberoProSuite, "_missing_environment", lambda self, name: None)
    pro = LiberoProSuite()
    assert pro.missing() is None
    assert pro.cells() == [
        ("turn_on_the_stove.goal_lan", "libero_goal_lan"),
        ("turn_on_the_stove.goal_swap", "libero_goal_swap"),
    ]
    options = pro.options("turn_on_the_stove.goal_lan")
    assert options["instruction"] == "switch the stove on, libero_goal_lan"
    assert options["file"] == "turn_on_the_stove"
    assert pro.step_limit("turn_on_the_stove.goal_lan") == 300
    assert instruction_in(pro.files["turn_on_the_stove.goal_swap"]).endswith("libero_goal_swap")


def test_a_checkout_of_pro_without_changed_files_says_what_is_missing(tmp_path, monkeypatch):
    for folder in ("assets", "bddl_files/libero_goal", "init_files/libero_goal"):
        (tmp_path / PACKAGE / folder).mkdir(parents=True)
    monkeypatch.setenv("LIBERO_PRO_ROOT", str(tmp_path))
    monkeypatch.setattr(LiberoProSuite, "_missing_environment", lambda self, name: None)
    assert "changed tasks" in LiberoProSuite().missing().module
