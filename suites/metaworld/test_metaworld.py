"""What `pytest --vla-suite=metaworld` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("metaworld")
def test_metaworld(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
