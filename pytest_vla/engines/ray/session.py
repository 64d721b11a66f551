"""A run whose workers are on a Ray cluster: what its session does otherwise than on one machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from pytest_vla.engines.ray.cluster import PLACED_S, Cluster
from pytest_vla.engines.ray.joining import Joining
from pytest_vla.engines.ray.replicas import ClusterService
from pytest_vla.inference.session import local_source, remote_source, service_options
from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies.source import PolicySource

if TYPE_CHECKING:
    import pytest

START_LIMIT_S = 600.0  # for the first worker: a cluster may have to buy its first node


class ClusterRun:
    """Registered as a plugin: xdist starts what it is told here."""

    def __init__(self, cluster: Cluster, workers: int, config: pytest.Config) -> None:
        self.cluster, self.workers, self.config = cluster, workers, config
        self.joining = Joining(cluster, config)
        self._late: list[Any] = []
        self.service: ClusterService | None = None
        self.say: Callable[[str], None] = lambda line: None

    @classmethod
    def start(cls, config: pytest.Config, settings: Settings, run_folder: Path) -> ClusterRun:
        """Join the cluster, and let xdist start its workers there."""
        assert settings.run.engine is not None
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        say = reporter.write_line if reporter is not None and reporter.verbosity >= 0 else lambda line: None
        workers = len(config.option.tx)
        cluster = Cluster(settings.run.engine, run_folder, say, workers + max(len(settings.inference.device), 1))
        config.option.tx = cluster.specs(workers)
        run = cls(cluster, workers, config)
        run.say = say
        config.add_cleanup(run.close)
        config.pluginmanager.register(run, "vla-cluster")
        return run

    def open_policy(self, options: InferenceOptions, timeout: float) -> tuple[PolicySource, ClusterService | None]:
        """The policy, checked, and its replicas, before the workers take the cores."""
        wanted = service_options(options, timeout, self.workers)
        if wanted is not None:
            self.service = ClusterService.start(self.cluster, wanted)
        self.cluster.prepare(self.workers)
        if self.service is None:
            return local_source(options), None
        return remote_source(self._served(" 0"), options, timeout), self.service

    def tell_worker(self, node: Any) -> None:
        """What a worker has to know besides."""
        node.workerinput["vla_driver_folder"] = os.getcwd()
        node.workerinput["vla_run_folder"] = str(self.cluster.run_folder)
        if self.service is not None:
            node.workerinput["vla_served"] = self._served(node.gateway.spec.python)

    def _served(self, spec: str) -> dict[str, Any]:
        assert self.service is not None
        return self.service.told(spec, str(self.cluster.run_folder))

    def tell(self, name: str, text: str) -> None:
        """A file in the run folder as every worker has it."""
        self.cluster.tell(name, text)

    def attend(self, scheduling: Any, together: bool) -> None:
        """Let the scheduler know whom xdist does not wait for, and open their seats when they are placed.

        The others begin one by one, or together: a worker alone would hold the hands of a hunt that are for others.
        """
        scheduling.joining = {spec.python for spec in self._late}
        scheduling.machine = lambda node: self.cluster.node_of(node.gateway.spec.python)[1]
        if together:
            scheduling.first = self.workers - len(self._late)
        if self._late:
            self.joining.begin(self._late)

    def close(self) -> None:
        self.joining.close()
        self.cluster.close()

    # --- xdist --------------------------------------------------------------------------------------------------------

    def pytest_xdist_setupnodes(self, specs: list[Any]) -> None:
        """xdist begins with the workers that have a place; the others join as places come."""
        until, first = monotonic() + PLACED_S, True
        for spec in list(specs):
            left = START_LIMIT_S if first else max(until - monotonic(), 0.0)
            first = False
            if not self.cluster.is_placed(spec.python, left) and len(specs) > 1:
                specs.remove(spec)
                self._late.append(spec)
        if self._late:
            self.say(f"vla: {len(specs)} of {self.workers} workers have a core; the others join as cores come")

    def pytest_xdist_getremotemodule(self) -> Any:
        from pytest_vla.engines.ray import remote

        return remote
