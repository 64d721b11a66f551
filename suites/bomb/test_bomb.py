"""What `pytest --vla-suite=bomb` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("bomb")
def test_bomb(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
