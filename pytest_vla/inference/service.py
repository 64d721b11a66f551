"""The controller's side: starts the server of each device, watches it, starts it again, and ends it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from select import select
from time import monotonic
from typing import IO, Any

from pytest_vla.inference.status import Statistics, StatusPage
from pytest_vla.inference.threads import COUNT, thread_variables
from pytest_vla.logs import Log
from pytest_vla.policies.base import PolicyError, PolicySpec
from pytest_vla.policies.trust import trusted

START_LIMIT_S = 1800.0  # the largest models take minutes to load
BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
MAX_IDLE_DEATHS = len(BACKOFF_S)  # in a row, without a single answer in between
WATCH_PERIOD_S = 0.05
GRACE_S = 2.0
CUDA_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class ServiceOptions:
    """How to serve a policy. `limit` is the number of seconds one batch may take (0: any)."""

    policy: str
    devices: tuple[str, ...] = ("cpu",)
    dtype: str | None = None
    compiled: bool = False
    batch: int = 32
    fixed: bool = False
    limit: float = 0.0
    tune: bool = False
    clients: int = 1
    logs: Path | None = None
    start_limit: float = START_LIMIT_S


class Introduced:
    """Servers that have said what they hold."""

    introduction: dict[str, Any]

    @property
    def digest(self) -> str:
        return str(self.introduction["digest"])

    @property
    def verified(self) -> bool:
        return bool(self.introduction["verified"])

    @property
    def spec(self) -> PolicySpec:
        return PolicySpec.from_dict(self.introduction["spec"])

    @property
    def weights(self) -> dict[str, int]:
        """Parameters and bytes of what the servers have loaded."""
        return dict(self.introduction.get("weights", {}))

    def record(self, total: Statistics, replicas: int, deaths: Sequence[str], tuned: Sequence[Any]) -> dict[str, Any]:
        """What they counted, as a line of the run file."""
        record = {**total.to_record(), "replicas": replicas, "restarts": len(deaths), "deaths": list(deaths)}
        return {**record, "tuned": tuned[0]} if tuned else record


class Service(Introduced):
    """The servers of one run. Their listening sockets belong to this process: while a server is down, clients wait
    in line and notice nothing but the time."""

    def __init__(self, options: ServiceOptions) -> None:
        self.options = options
        self.introduction = {}
        self._replicas = [Replica(options, device, number) for number, device in enumerate(options.devices)]
        self._watcher = threading.Thread(target=self._watch, name="vla-inference-watcher", daemon=True)
        self._ending = threading.Event()

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Start all replicas and wait until each has its model; a policy that cannot be loaded is one PolicyError."""
        service = cls(options)
        try:
            for replica in service._replicas:  # one after the other: only one copy is ever in this machine's memory
                replica.spawn()
                service.introduction = replica.wait_ready(options.start_limit)
        except BaseException:
            service.close()
            raise
        service._watcher.start()
        return service

    @property
    def addresses(self) -> list[str]:
        return [replica.address for replica in self._replicas]

    @property
    def pids(self) -> list[int]:
        return [replica.process.pid for replica in self._replicas if replica.process is not None]

    def said(self) -> list[tuple[str, str]]:
        """The last lines that each server printed, under a title."""
        tails = [
            (f"{replica.name}: last lines of {replica.log.path}", replica.log.tail()) for replica in self._replicas
        ]
        return [(title, text) for title, text in tails if text]

    def tell_processes(self, hear: Callable[[int], None]) -> None:
        """The number of every server process there is, and of those that will be started in their place."""
        for replica in self._replicas:
            replica.hear_process = hear
        for process in self.pids:
            hear(process)

    def total(self) -> Statistics:
        """What all replicas have counted."""
        return sum((replica.page.read() for replica in self._replicas), Statistics())

    def statistics(self) -> dict[str, Any]:
        deaths = [note for replica in self._replicas for note in replica.deaths]
        tuned = [replica.tuned for replica in self._replicas if replica.tuned]
        return self.record(self.total(), len(self._replicas), deaths, tuned)

    def close(self) -> None:
        """End every server and wait for it: no process is left, and there was never a name to leave behind."""
        self._ending.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for replica in self._replicas:
            replica.close()

    def _watch(self) -> None:
        while not self._ending.wait(WATCH_PERIOD_S):
            for replica in self._replicas:
                replica.check()


class Replica:
    """One server process on one device, and what is needed to start it again."""

    def __init__(self, options: ServiceOptions, device: str, number: int = 0) -> None:
        self.options = options
        self.name = f"server-{number}"
        self.device = device
        self.page = StatusPage.create()
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths: list[str] = []
        self.tuned: dict[str, Any] | None = None
        self.address, self._listener, self._folder = _listen()
        self._scratch = None if options.logs else tempfile.TemporaryDirectory(prefix="pytest-vla-")
        self.log = Log(Path(self._scratch.name if self._scratch else options.logs or "") / f"{self.name}.log")
        self._output = self.log.open()
        self._ready: IO[bytes] | None = None
        self.hear_process: Callable[[int], None] = lambda process: None
        self._restart_at: float | None = None
        self._idle_deaths = 0
        self._answered = 0

    def spawn(self) -> None:
        ready, writer = os.pipe()
        visible, device = only_visible(self.device, os.environ)
        threads = thread_variables(len(self.options.devices), os.environ)
        options = {
            "policy": self.options.policy,
            "path": sys.path,
            "trust": trusted(),
            "device": device,
            "dtype": self.options.dtype,
            "compiled": self.options.compiled,
            "batch": self.options.batch,
            "fixed": self.options.fixed,
            "limit": self.options.limit,
            "tune": self.options.tune,
            "try_threads": COUNT in threads and device == "cpu" and not self.options.fixed,
            "clients": self.options.clients,
            "listener": self._listener.fileno(),
            "status": self.page.arena.fd,
            "ready": writer,
        }
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pytest_vla.inference.server", json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                env={**os.environ, **threads, **visible},
                pass_fds=[self._listener.fileno(), self.page.arena.fd, writer],
            )
        finally:
            os.close(writer)
        self.hear_process(self.process.pid)
        self._ready = os.fdopen(ready, "rb")

    def wait_ready(self, limit: float) -> dict[str, Any]:
        """What the server says of its policy once that is loaded."""
        assert self._ready is not None
        if not select([self._ready], [], [], limit)[0]:
            raise PolicyError(f"policy '{self.options.policy}' did not load within {limit:g} s{self._log_tail()}")
        line = self._ready.readline()
        if not line:
            raise PolicyError(
                f"the inference server {self._end()} while it loaded policy '{self.options.policy}'{self._log_tail()}"
            )
        introduction: dict[str, Any] = json.loads(line)
        if "error" in introduction:
            raise PolicyError(introduction["error"])
        return introduction

    def check(self) -> None:
        """Called now and then: end a server that hangs, start one again that died."""
        if self._restart_at is not None:
            if monotonic() >= self._restart_at:
                self._restart_at = None
                self.spawn()
            return
        if self.process is None:
            return
        self._hear()
        self.log.bound()
        status = self.page.read()
        if self.process.poll() is not None:
            self._died(status, self._end())
        elif self._hangs(status):
            self.process.kill()
            self._died(status, f"was ended because one batch took more than {self.options.limit:g} s")

    def _hear(self) -> None:
        """A server that tunes itself says what it found."""
        if self.options.tune and self.tuned is None and self._ready and select([self._ready], [], [], 0)[0]:
            line = self._ready.readline()
            found = json.loads(line) if line else {}
            self.tuned = found if "supply" in found else None

    def _hangs(self, status: Statistics) -> bool:
        """Clients give up first, with `timeout`; then the server goes."""
        busy = monotonic() - status.busy_since if status.busy_since else 0.0
        return bool(self.options.limit) and busy > self.options.limit + GRACE_S

    def _died(self, status: Statistics, how: str) -> None:
        self.deaths.append(how + self._log_tail())
        self._idle_deaths = 0 if status.requests > self._answered else self._idle_deaths
        self._answered = status.requests
        self._close_process()
        self.page.live.busy_since = 0.0
        if self._idle_deaths >= MAX_IDLE_DEATHS:
            self._listener.close()  # those who wait in line learn that nobody will come
            return
        self._restart_at = monotonic() + BACKOFF_S[self._idle_deaths]
        self._idle_deaths += 1

    def _end(self) -> str:
        assert self.process is not None
        code = self.process.wait()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def _log_tail(self) -> str:
        text = self.log.tail()
        return f"\n{text}" if text else ""

    def _close_process(self) -> None:
        if self.process is not None:
            if self.process.stdin is not None:
                self.process.stdin.close()  # the lifeline
            try:
                self.process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        if self._ready is not None:
            self._ready.close()
            self._ready = None

    def close(self) -> None:
        self._close_process()
        self._listener.close()
        self._output.close()
        self.log.drop_empty()
        if self._scratch is not None:
            self._scratch.cleanup()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def only_visible(device: str, given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The variables and the name by which a server sees one CUDA device and no other.

    So no library in it can take memory on a device of another replica. What a person made visible is counted as torch
    counts it: `cuda:1` is the second of those.
    """
    kind, _, number = device.partition(":")
    if kind != "cuda" or not number.isdigit():
        return {}, device
    listed = [name.strip() for name in given.get(CUDA_VISIBLE, "").split(",") if name.strip()]
    if listed and int(number) >= len(listed):
        raise PolicyError(f"--vla-device={device}: {CUDA_VISIBLE}={given[CUDA_VISIBLE]} has {len(listed)} devices")
    return {CUDA_VISIBLE: listed[int(number)] if listed else number}, "cuda:0"


def _listen() -> tuple[str, socket.socket, Path | None]:
    """A listening Unix socket: without a file on Linux, in a private folder elsewhere."""
    name = f"pytest-vla-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX)
    folder = None
    if sys.platform == "linux":
        address = f"@{name}"
        listener.bind(b"\0" + name.encode())
    else:
        folder = Path(tempfile.mkdtemp(prefix="pytest-vla-"))
        address = str(folder / "socket")
        listener.bind(address)
    listener.listen(1024)
    return address, listener, folder
