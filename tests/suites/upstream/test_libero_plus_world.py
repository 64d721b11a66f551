"""LIBERO-plus itself, where its environment and a checkout with assets are given (LIBERO_PLUS_ROOT)."""

import numpy as np
import pytest
from installed import need
from pytest_vla.suites.libero_plus.names import base_of

NAME = "libero_plus"
need(NAME)
BOWL = "pick_up_the_black_bowl_between_the_plate_and_the_ramekin_and_place_it_on_the_plate"


def first(suite, part, dimension):
    return next(task for task, of in suite.cells() if of == dimension and part in task)


def start(suite, env, task, index=0):
    key = suite.episode(task, suite.listed[task].dimension, index)
    return env.reset(seed=key.seed(), options={"episode": key})[0]


def test_all_of_upstreams_tasks_are_there_and_each_is_made_from_one_of_liberos(suite):
    from pytest_vla.suites.libero.assets import tasks

    assert len(suite.cells()) == 10030
    assert len({base_of(task) for task in suite.tasks()}) == 40
    assert all(base_of(task) in tasks()[listed.suite] for task, listed in suite.listed.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "dimension"),
    [("_view_", "camera"), ("_initstate_", "robot"), ("_language_", "language"), ("_noise_", "noise")],
)
def test_a_task_of_each_kind_starts_and_steps_the_same_twice(suite, env, part, dimension):
    """Those of the seven that need no further texture; noise is upstream's, but drawn from the episode's seed."""
    task = first(suite, part, dimension)
    digests, pictures = [], []
    for _ in range(2):
        seen = start(suite, env, task)
        pictures.append(seen["images"]["agentview"].copy())
        assert "view" not in seen["instruction"]
        assert "initstate" not in seen["instruction"]
        env.step(np.array([0.2, 0, 0, 0, 0, 0, -1], np.float32))
        digests.append(suite.digest(env))
    assert digests[0] == digests[1]
    assert np.array_equal(*pictures)


@pytest.mark.slow
def test_upstreams_own_instruction_has_the_suffix_in_it(upstream, suite):
    """The bug by its name: `task.language` of every task that rewords nothing is made from its whole file name."""
    told = upstream(
        f"sys.path.insert(0, {str(suite.checkout())!r})\n"
        "from pathlib import Path\n"
        f"world.libero_world.prepare.settle(Path({str(suite.checkout())!r}) / 'libero' / 'libero', 'x')\n"
        "import re, types; sys.modules['torch'] = types.ModuleType('torch')\n"
        "from libero.libero.benchmark import grab_language_from_filename as g\n"
        f"print(json.dumps(g('libero_spatial', '{BOWL}_view_0_0_100_2_352_initstate_0.bddl')))"
    )
    assert told.endswith("view 0 0 100 2 352 initstate 0")
