"""What `pytest --vla-suite=vima_upstream` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("vima_upstream")
def test_vima_upstream(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
