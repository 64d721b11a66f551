"""Where a run grows past one machine: xdist's workers and the policy's replicas on the nodes of a cluster.

May import `inference`, `options` and `policies`. One folder an engine; read `ray/session.py` first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.options import Settings
from pytest_vla.policies.base import PolicyError

if TYPE_CHECKING:
    import pytest

    from pytest_vla.engines.ray.session import ClusterRun


def open_cluster(config: pytest.Config, settings: Settings, run_folder: Path) -> ClusterRun | None:
    """The cluster that `--vla-engine` names, joined; None where the run is to stay on this machine."""
    if settings.run.engine is None:
        return None
    if not config.getoption("tx", None):
        raise PolicyError("--vla-engine=ray spreads the workers of -n over a cluster: add -n WORKERS")
    from pytest_vla.engines.ray.session import ClusterRun

    return ClusterRun.start(config, settings, run_folder)
