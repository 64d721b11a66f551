"""What `pytest --vla-suite=calvin` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("calvin")
def test_calvin(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
