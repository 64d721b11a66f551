"""What `pytest --vla-suite=kinetix` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("kinetix")
def test_kinetix(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
