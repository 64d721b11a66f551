"""What `pytest --vla-suite=agnostos_floating` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("agnostos_floating")
def test_agnostos_floating(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
