"""What planted policies look at is found, and where there is nothing it is said so; the benchmark tries twenty."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from benchmarks import explain as benchmark  # noqa: E402


@pytest.mark.parametrize("name", benchmark.PLANTS)
def test_a_plant_is_found_or_nothing_is(name):
    found = benchmark.PLANTS[name](seed=3)
    assert found.get("mass", 1.0) >= benchmark.TARGETS["mass"]
    assert found.get("right", True)
    assert found["silent"]


def test_shuffled_weights_are_put_back_bit_by_bit():
    from benchmarks.explain_plants import Feature
    from pytest_vla.inference.probes import shuffled

    policy = Feature(1)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    with shuffled(policy, 5):
        assert any(not torch.equal(value, before[name]) for name, value in policy.state_dict().items())
    assert all(torch.equal(value, before[name]) for name, value in policy.state_dict().items())
