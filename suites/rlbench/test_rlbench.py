"""What `pytest --vla-suite=rlbench` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("rlbench")
def test_rlbench(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
