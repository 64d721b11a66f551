"""What `pytest --vla-suite=robosuite` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("robosuite")
def test_robosuite(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
