"""Where a run grows past one machine: xdist's workers and the policy's replicas on the nodes of a cluster.

May import `inference`, `options`, `outline` and `policies`. One folder an engine. Read `ray/session.py` first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.options import Settings
from pytest_vla.policies.base import PolicyError

if TYPE_CHECKING:
    import pytest

    from pytest_vla.engines.ray.session import ClusterRun

SPARE_RESTARTS = "1000000"  # nodes of a cluster come and go; an episode that ends two workers is not tried again


def expect_losses(config: pytest.Config, settings: Settings) -> None:
    """Before xdist asks: it gives a run up that loses many workers, unless --max-worker-restart was typed."""
    if settings.run.engine is not None and config.getoption("maxworkerrestart", "") is None:
        config.option.maxworkerrestart = SPARE_RESTARTS


def open_cluster(config: pytest.Config, settings: Settings, run_folder: Path) -> ClusterRun | None:
    """The cluster that `--vla-engine` names, joined; None where the run is to stay on this machine."""
    if settings.run.engine is None:
        return None
    if not config.getoption("tx", None):
        raise PolicyError("--vla-engine=ray spreads the workers of -n over a cluster: add -n WORKERS")
    if settings.report.record is not None:
        raise PolicyError("--vla-record writes to a folder of this machine, where no worker of --vla-engine is: use -n")
    from pytest_vla.engines.ray.session import ClusterRun

    return ClusterRun.start(config, settings, run_folder)
