"""What `pytest --vla-suite=vla_eval:MODULE:CLASS` runs."""

from typing import Any

import pytest_vla as vla
from pytest_vla.registry import members

for NAME in members("vla_eval"):

    @vla.benchmark(NAME)
    def test_vla_eval(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
        assert vla.rollout(policy, env, episode)
