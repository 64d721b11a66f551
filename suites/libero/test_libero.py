"""What `pytest --vla-suite=libero` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("libero")
def test_libero(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
