"""What `pytest --vla-suite=agnostos_delta` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("agnostos_delta")
def test_agnostos_delta(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
