"""What `pytest --vla-suite=agnostos_strict` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("agnostos_strict")
def test_agnostos_strict(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
