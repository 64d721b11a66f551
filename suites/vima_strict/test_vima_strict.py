"""What `pytest --vla-suite=vima_strict` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("vima_strict")
def test_vima_strict(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
