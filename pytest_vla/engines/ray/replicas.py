"""The policy's replicas on a cluster: actors that hold a server each, and what the driver knows of them."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pytest_vla.engines.ray.cluster import DIRECTORY, Cluster
from pytest_vla.inference.service import Introduced, ServiceOptions
from pytest_vla.inference.status import Statistics
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.trust import trusted

if TYPE_CHECKING:
    from pytest_vla.inference.far import Crossing
    from pytest_vla.inference.service import Service

WATCH_S = 0.5
ANSWER_S = 10.0


class Replica:
    """An actor: a policy's server on this node, reached through shared memory here and with a token from elsewhere."""

    def __init__(self, options: dict[str, Any], token: str, trusted_code: list[str], address: str | None) -> None:
        from pytest_vla.policies.trust import trust

        trust(trusted_code)
        self._options, self._token = ServiceOptions(**{**options, "devices": tuple(options["devices"])}), token
        self._address = address
        self._service: Service | None = None
        self._crossing: Crossing | None = None

    def start(self) -> dict[str, Any]:
        """Load the policy, once; where it is, and what it says of itself."""
        import os

        import ray

        from pytest_vla.inference.far import Crossing
        from pytest_vla.inference.service import Service

        node = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        if self._service is None:
            try:
                self._service = Service.start(self._options)
            except PolicyError as error:
                return {"error": str(error)}
            self._crossing = Crossing(self._service.addresses[0], self._address or node, self._token)
        assert self._crossing is not None
        near = self._service.addresses[0]
        place = {"node": node, "near": near, "far": self._crossing.address, "process": os.getpid()}
        return {**place, "introduction": self._service.introduction, "servers": self._service.pids}

    def statistics(self) -> tuple[list[float], dict[str, Any]]:
        assert self._service is not None
        return list(self._service.total().numbers), self._service.statistics()


class ClusterService(Introduced):
    """All replicas of a run, as `inference.service.Service` is those of one machine."""

    def __init__(self, cluster: Cluster, options: ServiceOptions, cores: float = 1) -> None:
        self.cluster, self.options = cluster, options
        self._ray = cluster.ray
        self._token = secrets.token_hex(32)
        self._ending = threading.Event()
        self._places: list[dict[str, Any]] = []
        self._deaths: list[str] = []
        self._last: list[tuple[list[float], dict[str, Any]]] = []
        self._actors = [self._make(device, cores) for device in options.devices]
        self._watcher = threading.Thread(target=self._watch, name="vla-replicas", daemon=True)

    @classmethod
    def start(cls, cluster: Cluster, options: ServiceOptions) -> ClusterService:
        """Start all replicas and wait until each has its model; a policy that cannot be loaded is one PolicyError."""
        service = cls(cluster, options)
        try:
            pending = [actor.start.remote() for actor in service._actors]
            service._places = [service._ray.get(each, timeout=options.start_limit) for each in pending]
        except service._ray.exceptions.GetTimeoutError:
            needs = "a GPU" if any(map(_is_gpu, options.devices)) else "a core"
            raise PolicyError(
                f"no replica of '{options.policy}' was placed: the cluster has not {needs} for each of "
                f"--vla-device={','.join(options.devices)}"
            ) from None
        except service._ray.exceptions.RayError as error:
            raise PolicyError(f"the replicas of '{options.policy}' were lost: {str(error).splitlines()[0]}") from None
        failed = next((place["error"] for place in service._places if "error" in place), None)
        if failed is not None:
            raise PolicyError(failed)
        service.introduction = service._places[0]["introduction"]
        service._tell()
        service._watcher.start()
        return service

    def _make(self, device: str, cores: float) -> Any:
        """A replica of a GPU has one by Ray, which shows it no other: it is `cuda:0` there."""
        gpu = _is_gpu(device)
        options = replace(self.options, devices=("cuda" if gpu else device,), logs=None)
        actor = self._ray.remote(
            num_cpus=0 if gpu else cores,
            num_gpus=1 if gpu else 0,
            scheduling_strategy="SPREAD",
            max_restarts=-1,
            max_task_retries=-1,
            max_concurrency=4,
        )(Replica)
        return actor.remote(asdict(options), self._token, list(trusted()), self.cluster.address)

    def _tell(self) -> None:
        """The workers' directory: where each replica is now."""
        rows = [{name: place[name] for name in ("node", "near", "far")} for place in self._places]
        self.cluster.tell(DIRECTORY, json.dumps(rows))

    def _watch(self) -> None:
        """Ray starts a lost replica again, perhaps elsewhere: then the workers are told."""
        asked: list[Any] = [None] * len(self._actors)
        while not self._ending.wait(WATCH_S):
            for number, actor in enumerate(self._actors):
                with suppress(Exception):  # it is being started again
                    asked[number] = asked[number] or actor.start.remote()
                    ready, _ = self._ray.wait([asked[number]], timeout=0)
                    if not ready:
                        continue
                    place, asked[number] = self._ray.get(asked[number]), None
                    if "error" not in place and place["process"] != self._places[number]["process"]:
                        self._deaths.append(f"on {self._places[number]['node']} was lost")
                        self._places[number] = place
                        self._tell()

    def told(self, spec: str, folder: str) -> dict[str, Any]:
        """What a worker has to be told: built-in types only."""
        number, node = self.cluster.node_of(spec)
        return {
            "directory": f"{folder}/{DIRECTORY}",
            "node": node,
            "number": number,
            "digest": self.digest,
            "verified": self.verified,
            "spec": self.spec.to_dict(),
        }

    # --- what `Service` has, too --------------------------------------------------------------------------------------

    @property
    def pids(self) -> list[int]:
        """None of this machine's."""
        return []

    def said(self) -> list[tuple[str, str]]:
        return []

    def tell_processes(self, hear: Callable[[int], None]) -> None:
        """Each node looks after its own."""

    def places(self) -> list[dict[str, Any]]:
        return list(self._places)

    def _counted(self) -> list[tuple[list[float], dict[str, Any]]]:
        with suppress(Exception):  # a replica that is away has said what it had before
            self._last = self._ray.get([actor.statistics.remote() for actor in self._actors], timeout=ANSWER_S)
        return self._last

    def total(self) -> Statistics:
        return sum((Statistics(numbers) for numbers, _ in self._counted()), Statistics())

    def statistics(self) -> dict[str, Any]:
        counted = self._counted()
        total = sum((Statistics(numbers) for numbers, _ in counted), Statistics())
        deaths = self._deaths + [note for _, record in counted for note in record["deaths"]]
        tuned = [record["tuned"] for _, record in counted if "tuned" in record]
        return self.record(total, len(self._actors), deaths, tuned)

    def close(self) -> None:
        self._ending.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for actor in self._actors:
            with suppress(Exception):
                self._ray.kill(actor)


def _is_gpu(device: str) -> bool:
    return device.startswith("cuda")
