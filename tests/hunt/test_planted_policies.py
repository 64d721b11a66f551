"""The planted policies hunts are measured with: every mode can be met, and none is part of another."""

import pytest

from benchmarks.hunt import Score
from benchmarks.hunt_planted import LEAST_OWN_SHARE, OVERLOAD, Mode, Planted, development, held_out, own_share
from pytest_vla.hunt.space import MAX_LEVEL, Space
from pytest_vla.perturb import AXES

POLICIES = [*development(), *held_out()]
SPACE = Space.of(("camera.yaw", "light.brightness", "object.mass"))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_planted_mode_is_one_of_its_own(policy):
    assert len(policy.modes) == len(set(policy.modes)) == 5
    for mode in policy.modes:
        assert all(1 <= low <= high <= MAX_LEVEL for _, low, high in mode.ranges)
        assert sum(low for _, low, _ in mode.ranges) <= OVERLOAD
        assert own_share(policy, mode) >= LEAST_OWN_SHARE


def test_a_mode_inside_another_has_no_share_of_its_own():
    whole, part = Mode("single", ((0, 3, 8),)), Mode("pair", ((0, 5, 8), (1, 2, 8)))
    policy = Planted("nested", SPACE, (whole, part))
    assert own_share(policy, part) == 0
    assert own_share(policy, whole) == 1


@pytest.mark.parametrize("policies", [development(), held_out()], ids=["development", "held-out"])
def test_both_sets_have_every_family(policies):
    kinds = [mode.kind for policy in policies for mode in policy.modes]
    assert set(kinds) == {"single", "pair", "triple", "band", "needle"}
    assert len(policies) >= 12

    def groups(name):
        return {
            AXES[policy.space.axes[axis]].group
            for policy in policies
            if name in policy.name
            for mode in policy.modes
            for axis in mode.axes
        }

    assert groups("language") == {"language"}
    assert groups("dynamics") <= {"object", "robot"}


def test_the_held_out_policies_are_none_of_those_the_search_was_tuned_with():
    def regions(policies):
        return {(p.space.axes[a], low, high) for p in policies for mode in p.modes for a, low, high in mode.ranges}

    tuned, fresh = regions(development()), regions(held_out())
    assert len(fresh - tuned) > len(fresh) / 2


def test_a_score_counts_modes_superfluous_axes_and_levels_off():
    policy = Planted("p", SPACE, (Mode("single", ((0, 4, 8),)), Mode("pair", ((1, 2, 8), (2, 6, 8)))))
    score = Score()
    score.add(policy, [((4, 0, 0), 5), ((0, 4, 6), 7), ((5, 1, 0), 9), ((0, 1, 1), 11)])
    assert score.modes == [2]
    assert score.extra == [0, 0, 1, 2]
    assert score.off == [0, 0.25, 0, 0.125]
    assert score.row()["shrink"] == 8
