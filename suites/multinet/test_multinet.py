"""What `pytest --vla-suite=multinet` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("multinet")
def test_multinet(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
