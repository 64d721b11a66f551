"""What `pytest --vla-suite=pusht` runs."""

from typing import Any

import pytest_vla as vla


@vla.benchmark("pusht")
def test_pusht(policy: vla.Policy, env: Any, episode: vla.EpisodeKey) -> None:
    assert vla.rollout(policy, env, episode)
