"""What `pytest --vla-suite=gym:ID` runs."""

from typing import Any

import pytest_vla as vla
from pytest_vla.registry import members

for NAME in members("gym"):

    @vla.benchmark(NAME)
    def test_gym(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
        assert vla.rollout(policy, env, episode)
