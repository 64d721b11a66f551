"""Other layouts of a scene: everything goes as far as asked, and nothing comes too near."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.kit.layout import GAP_M, distance, far_from, shift_things

RADIUS_M = 0.03
spots = st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))


@dataclass(frozen=True)
class Thing:
    label: str
    spot: tuple[float, float]
    fixed: bool


things = st.lists(st.tuples(spots, st.booleans()), min_size=1, max_size=6).map(
    lambda rows: [Thing(f"thing_{i}", spot, fixed) for i, (spot, fixed) in enumerate(rows)]
)


def inside(spot):
    return max(map(abs, spot)) <= 0.6


@given(things, st.floats(0.001, 0.1), st.integers(0, 1000))
def test_movable_things_go_the_distance_and_keep_theirs(things, distance_m, seed):
    shifts = shift_things(
        things,
        distance_m,
        np.random.default_rng(seed),
        movable=lambda thing: not thing.fixed,
        radius_m=lambda thing: RADIUS_M,
        inside=inside,
    )
    after = {t.label: tuple(np.add(t.spot, shifts.get(t.label, (0, 0)))) for t in things}
    assert set(shifts) <= {thing.label for thing in things if not thing.fixed}
    for thing in things:
        if thing.label in shifts:
            assert math.isclose(math.hypot(*shifts[thing.label]), distance_m, rel_tol=1e-9)
            assert inside(after[thing.label])
    if all(distance(a.spot, b.spot) >= 2 * RADIUS_M + GAP_M for a in things for b in things if a is not b):
        apart = 2 * RADIUS_M + GAP_M - 1e-9
        assert all(far_from(after[t.label], [after[o.label] for o in things if o is not t], apart) for t in things)


@given(spots, spots)
def test_distance_is_symmetric_and_euclidean(a, b):
    assert distance(a, b) == distance(b, a)
    assert math.isclose(distance(a, b), float(np.linalg.norm(np.subtract(a, b))), abs_tol=1e-12)
