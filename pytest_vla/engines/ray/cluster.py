"""The driver's side of a run on Ray: starts or joins a cluster, gives each worker of xdist a seat on it, and ends both.

The driver is a node of the cluster. Between it and a worker there is one connection, which the worker's node accepts on
the address that Ray has of it, from whoever knows a token that only the driver was told.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from pytest_vla.engines.ray import relay, seat
from pytest_vla.policies.base import PolicyError

EXCLUDED = (".git", ".venv", "venv", "__pycache__", "vla-runs", ".pytest_cache", ".mypy_cache", ".hypothesis", "build")
PLACED_S = 10.0
"""How long a worker waits for a free core before it shares one: xdist does nothing else meanwhile."""
DIRECTORY = "replicas.json"
REACHED_S = 10.0


class Cluster:
    """One run's part of a Ray cluster."""

    def __init__(self, engine: str, run_folder: Path, say: Callable[[str], None], actors: int) -> None:
        self.run_folder = run_folder.resolve()
        self._seats: dict[int, Any] = {}
        self._nodes: dict[int, str] = {}
        self._files: dict[str, str] = {}
        """What every seat has been told, for those that come later."""
        self._lock = threading.Lock()
        self._closing = False
        _, _, named = engine.partition(":")
        address = named or os.environ.get("RAY_ADDRESS")
        self.ray = _ray(local=not address)
        self.address: str | None = None
        """What every port is bound to; None for the address that Ray has of each node."""
        self._join(address, say, actors)
        self._folder = tempfile.TemporaryDirectory(prefix="pytest-vla-")
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(Path(self._folder.name) / "door"))
        self._door.listen(1024)
        threading.Thread(target=self._answer_relays, name="vla-cluster", daemon=True).start()

    def _join(self, address: str | None, say: Callable[[str], None], actors: int) -> None:
        """The cluster that was named, the one of the environment, or a new one on this machine.

        That one has room for all actors, however many cores there are: `-n` means what it means without Ray.
        """
        say(f"vla: joining Ray at {address} ..." if address else "vla: starting a local Ray ...")
        if address:
            _check_reachable(address)
        environment: dict[str, Any] = {"working_dir": os.getcwd(), "excludes": [*EXCLUDED, *_in_cwd(self.run_folder)]}
        environment["env_vars"] = _own_variables()
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False, "runtime_env": environment}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            if address:
                self.ray.init(address=address, **quiet)
            else:
                self.ray.init(include_dashboard=False, num_cpus=actors, **quiet)
                self.address = "127.0.0.1"
        except Exception as error:  # Ray has no exception of its own for each of these
            where = f"at {address}" if address else "on this machine"
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise PolicyError(f"--vla-engine: no Ray cluster {where}: {first}") from None

    @property
    def own_address(self) -> str:
        """What the driver's own ports are bound to."""
        return self.address or str(self.ray.util.get_node_ip_address())

    # --- seats --------------------------------------------------------------------------------------------------------

    def specs(self, workers: int) -> list[str]:
        """What xdist is to start instead of so many Pythons."""
        python = shlex.join([sys.executable, "-I", "-S", relay.__file__, str(Path(self._folder.name) / "door")])
        return [f"popen//python={python} {number}" for number in range(workers)]

    def prepare(self, workers: int) -> None:
        """Ask for all seats at once: xdist takes them one after the other."""
        with self._lock:
            for number in range(workers):
                self._seats[number] = self._new_seat(1)

    def _new_seat(self, cores: float) -> Any:
        actor = self.ray.remote(num_cpus=cores, scheduling_strategy="SPREAD", max_concurrency=4)(seat.Seat)
        return actor.remote(dict(self._files))

    def is_placed(self, spec: str, limit: float = 0.0) -> bool:
        """Whether the seat of a gateway is on a node by now."""
        with self._lock:
            actor = self._seats.get(_number(spec))
            if actor is None:
                actor = self._seats[_number(spec)] = self._new_seat(1)
        try:
            self._node(actor, limit + 0.01)
        except self.ray.exceptions.GetTimeoutError:
            return False
        except self.ray.exceptions.RayError:
            self.leave(spec)
            return False
        return True

    def leave(self, spec: str) -> None:
        """The worker of a gateway is gone, or will not come."""
        with self._lock:
            self._end(self._seats.pop(_number(spec), None))
            self._nodes.pop(_number(spec), None)

    def node_of(self, spec: str) -> tuple[int, str]:
        """The number of a seat by xdist's name for its gateway, and the node on which it is."""
        number = _number(spec)
        return number, self._nodes.get(number, "")

    def tell(self, name: str, text: str) -> None:
        """Put a file into the folder of every worker, also of those that come later."""
        with self._lock:
            self._files[name] = text
            for each in self._seats.values():
                with suppress(Exception):  # a lost one is noticed by its connection
                    each.write.remote(name, text)

    def _answer_relays(self) -> None:
        with suppress(OSError):
            while True:
                asked, _ = self._door.accept()
                threading.Thread(target=self._answer, args=(asked,), daemon=True).start()

    def _answer(self, asked: socket.socket) -> None:
        with asked, suppress(OSError):
            number = int(json.loads(asked.makefile("r").readline())["seat"])
            try:
                place = self._place(number)
            except Exception as error:
                place = {"error": f"no place for worker {number}: {str(error).splitlines()[0]}"}
            asked.sendall(json.dumps(place).encode() + b"\n")

    def _place(self, number: int) -> dict[str, Any]:
        """An open seat. Where no core becomes free the worker shares one; where a node is lost it goes to another."""
        until = monotonic() + 10 * PLACED_S
        while True:
            with self._lock:
                if number in self._nodes:  # its worker is gone
                    self._end(self._seats.pop(number, None))
                    del self._nodes[number]
                if number not in self._seats:
                    self._seats[number] = self._new_seat(1)
                actor = self._seats[number]
            try:
                actor, node = self._seated(number, actor)
                place: dict[str, Any] = self.ray.get(actor.open.remote(self.address or node), timeout=PLACED_S)
            except self.ray.exceptions.RayError:
                if self._closing or monotonic() > until:
                    raise
                with self._lock:
                    self._end(self._seats.pop(number, None))
                continue
            with self._lock:
                self._nodes[number] = node
                for name, text in self._files.items():
                    actor.write.remote(name, text)
            return place

    def _seated(self, number: int, actor: Any) -> tuple[Any, str]:
        """A seat that is on a node, and which; one that finds no core of its own shares another's."""
        try:
            return actor, self._node(actor, PLACED_S)
        except self.ray.exceptions.GetTimeoutError:
            self._end(actor)
            actor = self._new_seat(0)
            with self._lock:
                self._seats[number] = actor
            return actor, self._node(actor, 3 * PLACED_S)

    def _node(self, actor: Any, limit: float) -> str:
        """The address that Ray has of an actor's node."""
        found: str = self.ray.get(actor.address.remote(), timeout=limit)
        return found

    # --- the end ------------------------------------------------------------------------------------------------------

    def processes(self) -> dict[int, int | None]:
        """The workers' processes by seat, on their nodes: to look at, and for tests."""
        with self._lock:
            seats = dict(self._seats)
        return {number: self.ray.get(each.worker.remote(), timeout=PLACED_S) for number, each in seats.items()}

    def _end(self, actor: Any) -> None:
        with suppress(Exception):  # it may have gone already
            self.ray.kill(actor)

    def close(self) -> None:
        """Leave the cluster; a Ray that was started for this run ends with it."""
        self._closing = True
        self._door.close()
        with self._lock:
            for each in self._seats.values():
                self._end(each)
        self.ray.shutdown()
        self._folder.cleanup()


def _number(spec: str) -> int:
    return int(spec.rpartition(" ")[2])


def _check_reachable(address: str) -> None:
    """Ray itself tries for minutes before it says that nobody is there."""
    host, sign, port = address.rpartition(":")
    if not sign or not port.isdecimal() or "//" in address:
        return  # `auto`, and what else Ray may understand
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHED_S).close()
    except (OSError, OverflowError) as error:
        hint = "start its head (`ray start --head`), and type this on one of its nodes"
        raise PolicyError(f"--vla-engine: no Ray cluster at {address}: {error}; {hint}") from None


def _ray(local: bool) -> Any:
    """Ray, whose own ports ask for a token; that of a local one is made here and ends with the run."""
    if local and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # read when it is imported
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        import ray
    except ImportError:
        raise PolicyError('--vla-engine=ray needs Ray: pip install "pytest-vla[ray]"') from None
    return ray


def _in_cwd(folder: Path) -> list[str]:
    try:
        return [f"/{folder.relative_to(Path.cwd().resolve())}"]
    except ValueError:
        return []


def _own_variables() -> dict[str, str]:
    """Settings of simulators and of ours that a worker on this machine would have inherited."""
    return {name: value for name, value in os.environ.items() if name.startswith(("PYTEST_VLA_", "MUJOCO_", "OMP_"))}
