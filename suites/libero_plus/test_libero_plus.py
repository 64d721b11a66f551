"""What `pytest --vla-suite=libero_plus` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("libero_plus")
def test_libero_plus(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
