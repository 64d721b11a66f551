"""A patch over the view is fair: what a task is about can be seen in one of the cameras."""

import numpy as np
import pytest
from pytest_vla.suites.vima.kit.elsewhere import receivers
from pytest_vla.suites.vima.kit.features import movers

from pytest_vla.perturb import perturbed
from pytest_vla.registry import get_suite


@pytest.mark.parametrize("task", get_suite("vima").tasks())
@pytest.mark.parametrize("level", [2, 8])
def test_nothing_that_counts_is_hidden_from_both_cameras(task, level):
    pytest.importorskip("pybullet")
    suite = get_suite("vima")
    env = suite.make_env(task)
    partition = suite.select([task])[0][1]
    for index in range(3):
        key = suite.episode(task, partition, index)
        seen, _ = env.reset(options={"episode": key})
        patched = suite.episode(task, partition, index, f"sensor.patch={level}")
        hidden, _ = perturbed(env, suite, patched).reset(options={"episode": patched})
        for label in movers(env.instance) | receivers(env.instance):
            shown = []
            for camera, image in seen["images"].items():
                pixels = seen["segmentation"][camera] == env.ids[label]
                same = (np.asarray(image) == hidden["images"][camera]).all(axis=2)
                shown.append(same[pixels].mean() if pixels.any() else 0.0)
            assert max(shown) > 0.5, f"{key}: {label}"
    env.close()
