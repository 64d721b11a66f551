"""What `pytest --vla-suite=vima` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("vima")
def test_vima(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
