"""How large a cluster must be: enough for what was asked, and not much more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.inference.capacity import DRIVER_RESULTS_S, Costs, lines, size_for

rates = st.floats(1, 1e4)
costs = st.builds(
    lambda simulator, requests, one, gain: Costs(simulator, requests, {1: one, 8: one * gain, 32: one * gain * gain}),
    st.floats(0.01, 100),
    st.floats(1, 500),
    rates,
    st.floats(1, 4),
)


@given(costs, st.integers(1, 10**6), st.floats(0.5, 48))
def test_the_size_that_is_named_is_enough(found, episodes, hours):
    size = size_for(found, episodes, hours)
    if size is None:
        assert episodes / (3600 * hours) > DRIVER_RESULTS_S
        return
    rate, _ = found.episodes_s(size.simulators, size.replicas)
    assert rate * 3600 * hours >= episodes * 0.999


def test_slow_simulators_take_many_of_them_and_a_slow_model_many_replicas():
    slow_simulators = size_for(Costs(10.0, 1, {1: 1000.0, 8: 4000.0}), 36_000, 1)
    slow_model = size_for(Costs(0.1, 100, {1: 50.0, 8: 100.0}), 36_000, 1)
    assert slow_simulators is not None
    assert slow_model is not None
    assert (slow_simulators.replicas, slow_simulators.simulators >= 100) == (1, True)
    assert slow_model.replicas == 11


def test_where_the_bottleneck_moves_is_said():
    said = "\n".join(lines(Costs(1.0, 10, {1: 20.0, 8: 80.0}), 100_000, 1))
    assert "100000 episodes in 1 h" in said
    assert "moves from the simulators to the model" in said
    assert "split them with --vla-shard" in "\n".join(lines(Costs(1.0, 10, {1: 20.0}), 10**8, 1))
