"""What `pytest --vla-suite=libero_pro` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("libero_pro")
def test_libero_pro(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
