"""What `pytest --vla-suite=agnostos` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("agnostos")
def test_agnostos(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
