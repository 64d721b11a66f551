"""What `pytest --vla-suite=bomb_bullet` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("bomb_bullet")
def test_bomb_bullet(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
