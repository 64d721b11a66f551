"""`pytest-vla serve`: any policy we can load, for harnesses that speak vla-eval's or openpi's protocol."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from pytest_vla._version import __version__
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.batching import Batcher
from pytest_vla.inference.engine import Engine, Episode, Failure, Job
from pytest_vla.inference.intake import DELAY_S, LONGEST_DELAY_S, MOST_HELD, Door, Intake, is_foreign, peer
from pytest_vla.inference.received import from_openpi, from_vla_eval
from pytest_vla.inference.tree import TreeError, flatten, plain, signature
from pytest_vla.policies.actions import flatten_action
from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.chunking import Chunked, ChunkState, execution, steps_of
from pytest_vla.policies.wire import (
    MAX_MESSAGE,
    PROTOCOL_VERSION,
    Limits,
    TooLarge,
    WireError,
    pack_message,
    pack_tree,
    unpack_message,
    unpack_tree,
)
from pytest_vla.suite import SuiteError, get_suite

try:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.asyncio.server import serve as listen
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
except ImportError:
    raise PolicyError('pytest-vla serve needs websockets: pip install "pytest-vla[remote]"') from None

QUICK_BYTES = 8 << 20  # a message that is no larger, packed and unpacked, takes milliseconds to read
GREETING_LIMIT_S = 1.0  # who has not spoken by then is an openpi client and waits for us


Unpack = Callable[[bytes | str, Limits], Any]


@dataclass(frozen=True)
class ServeOptions:
    """`names` says which part of a received observation becomes which part of ours (target path -> source path)."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    protocol: str = "auto"
    batch: int = 32
    horizon: int | None = None
    ensemble: str | None = None
    max_message: int = MAX_MESSAGE
    max_clients: int = 256
    max_held: int = MOST_HELD
    max_unpacked: int = 8 << 20
    idle_limit: float = 3600.0
    names: Mapping[str, str] = field(default_factory=dict)


class Desk:
    """Takes requests of all connections and gives them to the engine in batches, in a thread of its own."""

    def __init__(self, policy: Policy, limit: int) -> None:
        self.live: set[object] = set()
        self._engine = Engine(policy)
        self._batcher: Batcher[tuple[Job, asyncio.Future[Any]]] = Batcher(limit)
        self._news = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "policy")

    async def ask(self, client: object, job: Job) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._batcher.add(client, (job, future), monotonic())
        self._news.set()
        return await future

    async def run(self) -> None:
        while True:
            self._news.clear()
            wait = self._batcher.wait(len(self.live), monotonic())
            if wait == 0:
                await self._serve(self._batcher.take())
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait)

    async def _serve(self, batch: list[tuple[Job, asyncio.Future[Any]]]) -> None:
        start = monotonic()
        jobs = [job for job, future in batch if not future.cancelled()]
        answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.answer, jobs)
        self._batcher.took(len(jobs), monotonic() - start)
        waiting = (future for _, future in batch if not future.cancelled())
        for future, answer in zip(waiting, answers, strict=False):
            if not future.done():
                future.set_result(answer)


class PolicyServer:
    """One policy, any number of connections of either protocol."""

    def __init__(self, policy: Policy, name: str, options: ServeOptions, digest: str = "") -> None:
        self.policy, self.name, self.options, self.digest = policy, name, options, digest
        self._numbers = itertools.count()
        self._talks: dict[Talk, None] = {}
        self._flatten = _flattening(policy.spec)
        self._intake = Intake(options.max_held)
        self._quick, self._patient = ThreadPoolExecutor(2, "reader"), ThreadPoolExecutor(1, "patient-reader")

    def flat(self, action: Any) -> Any:
        """An action as either protocol has it, one array; parts of a dict one after the other, as its suite says."""
        return self._flatten(action) if isinstance(action, Mapping) else np.asarray(action)

    async def run(self, on_ready: Callable[[Server], None] = lambda server: None) -> None:
        """Serve until cancelled."""
        self.desk = Desk(self.policy, self.options.batch)
        desk, sweep = asyncio.create_task(self.desk.run()), asyncio.create_task(self._intake.sweeping())
        try:
            async with listen(
                self._connected,
                sock=Door.open(self.options.host, self.options.port, self._intake),
                process_request=self._before_upgrade,
                compression=None,
                max_size=self.options.max_message,
                max_queue=1,
                create_connection=self._intake.connections(),
                open_timeout=10,
                ping_interval=None,  # a client that simulates for a minute is not gone
            ) as server:
                on_ready(server)
                await desk
        finally:
            desk.cancel()
            sweep.cancel()

    async def read(self, connection: ServerConnection, unpack: Unpack, data: bytes | str) -> Any:
        """A message, taken apart beside the loop; a large one waits for other large ones, and no small one for it."""
        loop = asyncio.get_running_loop()
        try:
            if connection.close_code is not None:
                raise ConnectionClosed(None, None)
            if len(data) <= QUICK_BYTES:
                with suppress(TooLarge):
                    limits = Limits(min(QUICK_BYTES, self.options.max_unpacked))
                    return await loop.run_in_executor(self._quick, unpack, data, limits)
            if self.options.max_unpacked <= QUICK_BYTES:
                raise WireError(f"more than {self.options.max_unpacked} bytes, unpacked; see --observation-mb")
            return await loop.run_in_executor(self._patient, unpack, data, Limits(self.options.max_unpacked))
        finally:
            self._intake.settled(connection)  # type: ignore[arg-type]

    def strike(self, connection: ServerConnection) -> None:
        """Note that a client asked for what it could not have."""
        self._intake.manners.strike(peer(connection))

    # --- HTTP --------------------------------------------------------------------------------------------------------

    async def _before_upgrade(self, connection: ServerConnection, request: Request) -> Response | None:
        self._intake.settled(connection)  # type: ignore[arg-type]
        path = urlsplit(request.path).path
        if path == "/health":
            return connection.respond(HTTPStatus.OK, json.dumps({"status": "ok"}))
        if path == "/healthz":
            return connection.respond(HTTPStatus.OK, "OK\n")
        foreign = is_foreign(request, self.options.host)
        if foreign is not None and not self.options.token:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{foreign}\n")
        if not self._is_allowed(request):
            self.strike(connection)
            return connection.respond(HTTPStatus.UNAUTHORIZED, "this server needs a token\n")
        if len(self._talks) >= self.options.max_clients and not self._end_a_silent_one():
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients\n")
        return None

    def _end_a_silent_one(self) -> bool:
        """Make room for a new client: whoever came first and never said anything goes."""
        silent = next((talk for talk in self._talks if not talk.heard), None)
        if silent is not None:
            del self._talks[silent]
            silent.connection.transport.abort()
        return silent is not None

    def _is_allowed(self, request: Request) -> bool:
        """The token, as `Authorization: Api-Key T` or `Bearer T`, or as ?token=T for clients that have only a URL."""
        if not self.options.token:
            return True
        given = parse_qs(urlsplit(request.path).query).get("token", [])
        given += [value.rpartition(" ")[2] for value in request.headers.get_all("Authorization")]
        return any(hmac.compare_digest(value.encode(), self.options.token.encode()) for value in given)

    # --- connections -------------------------------------------------------------------------------------------------

    async def _connected(self, connection: ServerConnection) -> None:
        talk = Talk(self, connection, next(self._numbers))
        self._talks[talk] = None
        try:
            await talk.run()
        except WireError as error:
            self.strike(connection)
            await connection.close(1003, str(error)[:100])
        except ConnectionClosed:
            if talk.asked:  # it went away without what it had asked for
                self.strike(connection)
        except TimeoutError:
            await connection.close(1001, "idle")
        finally:
            self._talks.pop(talk, None)
            self.desk.live.discard(talk)


class Talk:
    """One connection."""

    def __init__(self, server: PolicyServer, connection: ServerConnection, number: int) -> None:
        self.server, self.connection, self.number = server, connection, number
        options = server.options
        self._chunked = Chunked(server.policy, *execution(server.policy.spec, options.horizon, options.ensemble))
        self._episode = Episode(EpisodeKey("remote", "connection", "", number))
        self._chunks = ChunkState(None)
        self.asked = self.heard = False
        self._failures = 0

    async def run(self) -> None:
        first = None
        if self.server.options.protocol != "openpi":
            limit = GREETING_LIMIT_S if self.server.options.protocol == "auto" else self.server.options.idle_limit
            try:
                first = await asyncio.wait_for(self.connection.recv(), limit)
            except TimeoutError:
                if self.server.options.protocol != "auto":
                    raise
        if first is None:
            await self._openpi()
        else:
            await self._vla_eval(first)

    async def _failed(self) -> None:
        """What an observation that cannot be used costs who sent it: time."""
        self._failures += 1
        self.server.strike(self.connection)
        await asyncio.sleep(min(DELAY_S * self._failures, LONGEST_DELAY_S))

    async def _next(self) -> bytes | str:
        return await asyncio.wait_for(self.connection.recv(), self.server.options.idle_limit)

    # --- vla-eval ----------------------------------------------------------------------------------------------------

    async def _vla_eval(self, data: bytes | str) -> None:
        while True:
            self.asked = True
            kind, payload, number = await self.server.read(self.connection, unpack_message, data)
            self.heard = True
            if kind == "hello":
                await self.connection.send(pack_message("hello", self._introduction(), number))
            elif kind == "episode_start":
                self._episode = Episode(_episode_key(payload.get("task"), self.number))
                self._chunks = ChunkState(None)
                self.server.desk.live.add(self)
            elif kind == "episode_end":
                self.server.desk.live.discard(self)
            elif kind == "observation":
                await self._observation(payload, number)
            self.asked = False
            data = await self._next()

    async def _observation(self, payload: dict[str, Any], number: int) -> None:
        try:
            action = await self._one_action(from_vla_eval(payload, self.server.options.names))
        except (PolicyError, WireError, TreeError) as error:
            await self._failed()
            reply = pack_message("error", {"error": f"observation_failed: {error}"}, number)
        else:
            reply = pack_message("action", {"actions": self.server.flat(action)}, number)
        await self.connection.send(reply)

    async def _one_action(self, observation: Mapping[str, Any]) -> Any:
        """One action a step, of a chunk while there is one."""
        if self.server.policy.spec.chunk <= 1:
            return await self._ask(observation)
        if self._chunked.is_due(self._chunks):
            self._chunked.add(self._chunks, await self._ask(observation))
        return self._chunked.next(self._chunks)

    def _introduction(self) -> dict[str, Any]:
        return {
            "harness_version": f"pytest-vla {__version__}",
            "protocol_version": PROTOCOL_VERSION,
            "model_server": self.server.name,
            "model_digest": self.server.digest,
            "capabilities": {},
        }

    # --- openpi ------------------------------------------------------------------------------------------------------

    async def _openpi(self) -> None:
        metadata = {"policy": self.server.name, "digest": self.server.digest, "pytest_vla": __version__}
        await self.connection.send(pack_tree(metadata))
        while True:
            received = await self.server.read(self.connection, unpack_tree, await self._next())
            self.heard = True
            start = monotonic()
            try:
                if not isinstance(received, dict):
                    raise WireError(f"an observation must be a map, got {type(received).__name__}")
                action = await self._ask(from_openpi(received, self.server.options.names))
            except (PolicyError, WireError, TreeError) as error:
                await self._failed()
                await self.connection.send(str(error))
                await self.connection.close(1011, "the policy failed")
                return
            chunk = steps_of(action) if self.server.policy.spec.chunk > 1 else [action]
            actions = np.stack([self.server.flat(step) for step in chunk])
            timing = {"infer_ms": 1e3 * (monotonic() - start)}
            await self.connection.send(pack_tree({"actions": actions, "server_timing": timing}))

    # --- both --------------------------------------------------------------------------------------------------------

    async def _ask(self, observation: Mapping[str, Any]) -> Any:
        self.server.desk.live.add(self)
        job = Job(self._episode, observation, signature(flatten(observation)[0]))
        answer = await self.server.desk.ask(self, job)
        if isinstance(answer, Failure):
            raise PolicyError(answer.message)
        return plain(answer)


def _flattening(spec: PolicySpec) -> Callable[[Any], Any]:
    """That of the suite the policy acts in, where it names one that is known here."""
    for name in spec.suites[:1]:
        with suppress(SuiteError):
            return get_suite(name).flatten_action
    return flatten_action


def _episode_key(task: Any, number: int) -> EpisodeKey:
    """The key of an episode that began elsewhere. Our own client sends all of it, others a name and an index."""
    task = task if isinstance(task, dict) else {}
    key = EpisodeKey("remote", str(task.get("name", "task")), "", number)
    known = {item.name: type(getattr(key, item.name)) for item in fields(EpisodeKey)}
    given = {"index": task.get("episode_idx", number), **{name: task[name] for name in known if name in task}}
    return replace(key, **{name: value for name, value in given.items() if type(value) is known[name]})


def run_server(policy_text: str, options: ServeOptions, device: str = "cpu") -> int:
    """The `serve` command: load, listen, say where, until Ctrl-C."""
    from pytest_vla.policies.kinds import load_shared

    if options.host not in ("127.0.0.1", "localhost", "::1") and not options.token:
        raise PolicyError(f"{options.host} is open to the network: set PYTEST_VLA_TOKEN, or serve on 127.0.0.1")
    source = load_shared(policy_text)
    source.move_to(device)

    def ready(server: Server) -> None:
        host, port = _first_address(server.sockets)
        print(f"serving {policy_text} on ws://{host}:{port} (vla-eval and openpi protocols)", flush=True)

    try:
        asyncio.run(PolicyServer(source.policy, policy_text, options, source.digest).run(ready))
    except OSError as error:
        raise PolicyError(f"cannot listen on {options.host}:{options.port}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def _first_address(sockets: Sequence[Any]) -> tuple[str, int]:
    host, port, *_ = next(iter(sockets)).getsockname()
    return str(host), int(port)
