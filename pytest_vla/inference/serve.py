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
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from pytest_vla.inference.desk import Desk
from pytest_vla.inference.engine import Engine
from pytest_vla.inference.heap import keep_freed_memory
from pytest_vla.inference.intake import MOST_HELD, Connection, Door, Intake, is_foreign, peer
from pytest_vla.inference.talk import Talk
from pytest_vla.options import InferenceOptions
from pytest_vla.policies.actions import flatten_action
from pytest_vla.policies.base import PolicyError, PolicySpec
from pytest_vla.policies.source import SharedSource
from pytest_vla.policies.wire import (
    MAX_MESSAGE,
    Limits,
    Received,
    TooLarge,
    WireError,
)
from pytest_vla.registry import get_suite
from pytest_vla.suite import SuiteError

try:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.asyncio.server import serve as listen
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
except ImportError:
    raise PolicyError('pytest-vla serve needs websockets: pip install "pytest-vla[remote]"') from None

BRIEF_BYTES, BRIEF_PARTS = 1 << 20, 1_000  # a message of no more is read without a thread
QUICK_BYTES = 8 << 20  # a message that is no larger, packed and unpacked, takes milliseconds to read
GREETING_LIMIT_S = 1.0  # who has not spoken by then is an openpi client and waits for us


Unpack = Callable[[Received, Limits], Any]


@dataclass(frozen=True)
class ServeOptions:
    """`names` says which part of a received observation becomes which part of ours (target path -> source path)."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    protocol: str = "auto"
    batch: int = 32
    max_message: int = MAX_MESSAGE
    max_clients: int = 256
    max_held: int = MOST_HELD
    max_unpacked: int = 8 << 20
    idle_limit: float = 3600.0
    names: Mapping[str, str] = field(default_factory=dict)


class PolicyServer:
    """One policy, on one or more devices, and any number of connections of either protocol.

    The sources are what `--vla-policy` makes of the same text and options, one a device: chunks, corrections and the
    declared part of an observation are theirs.
    """

    def __init__(self, sources: Sequence[SharedSource], options: ServeOptions, fixed: int = 0) -> None:
        self.source, self.options = sources[0], options
        self.policy, self.spec = sources[0].policy, sources[0].spec
        self.name, self.digest = sources[0].text, sources[0].digest
        self.horizon, self.ensemble = sources[0].horizon, sources[0].ensemble or "newest"
        self._engines = [Engine(source.policy, fixed) for source in sources]
        self._numbers = itertools.count()
        self._talks: dict[Talk, None] = {}
        self._flatten = _flattening(self.spec)
        self._intake = Intake(options.max_held, largest=options.max_message)
        self._quick, self._patient = ThreadPoolExecutor(2, "reader"), ThreadPoolExecutor(1, "patient-reader")
        self._said: set[str] = set()

    def quietest(self) -> Desk:
        """The device that the fewest connections have: a new one goes there."""
        return min(self._desks, key=lambda desk: sum(talk.desk is desk for talk in self._talks))

    def say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            print(f"vla: {line}", file=sys.stderr, flush=True)

    def flat(self, action: Any) -> Any:
        """An action as either protocol has it, one array; parts of a dict one after the other, as its suite says."""
        return self._flatten(action) if isinstance(action, Mapping) else np.asarray(action)

    async def run(self, on_ready: Callable[[Server], None] = lambda server: None) -> None:
        """Serve until cancelled."""
        self._desks = [Desk(engine, self.options.batch) for engine in self._engines]
        desks = [asyncio.create_task(desk.run()) for desk in self._desks]
        sweep = asyncio.create_task(self._intake.sweeping())
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
                await asyncio.gather(*desks)
        finally:
            for task in (*desks, sweep):
                task.cancel()

    async def read(self, connection: Connection, unpack: Unpack, data: Received) -> Any:
        """A message, taken apart beside the loop; a large one waits for other large ones, and no small one for it.

        One that takes less than a moment is taken apart here and now.
        """
        loop = asyncio.get_running_loop()
        try:
            if connection.close_code is not None:
                raise ConnectionClosed(None, None)
            if len(data) <= BRIEF_BYTES:
                with suppress(TooLarge):
                    brief = Limits(min(BRIEF_BYTES, self.options.max_unpacked), BRIEF_PARTS, brief=True)
                    return unpack(data, brief)
            if len(data) <= QUICK_BYTES:
                with suppress(TooLarge):
                    limits = Limits(min(QUICK_BYTES, self.options.max_unpacked))
                    return await loop.run_in_executor(self._quick, unpack, data, limits)
            if self.options.max_unpacked <= QUICK_BYTES:
                raise WireError(f"more than {self.options.max_unpacked} bytes, unpacked; see --observation-mb")
            return await loop.run_in_executor(self._patient, unpack, data, Limits(self.options.max_unpacked))
        finally:
            self._intake.settled(connection)

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
        assert isinstance(connection, Connection)
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
            talk.desk.live.discard(talk)


def _flattening(spec: PolicySpec) -> Callable[[Any], Any]:
    """That of the suite the policy acts in, where it names one that is known here."""
    for name in spec.suites[:1]:
        with suppress(SuiteError):
            return get_suite(name).flatten_action
    return flatten_action


def run_server(asked: InferenceOptions, options: ServeOptions) -> int:
    """The `serve` command: load, listen, say where, until Ctrl-C."""
    from pytest_vla.inference.session import fixed_batch, served_sources

    if options.host not in ("127.0.0.1", "localhost", "::1") and not options.token:
        raise PolicyError(f"{options.host} is open to the network: set PYTEST_VLA_TOKEN, or serve on 127.0.0.1")
    keep_freed_memory()
    sources = served_sources(asked)

    def ready(server: Server) -> None:
        host, port = _first_address(server.sockets)
        print(f"serving {asked.policy} on ws://{host}:{port} (vla-eval and openpi protocols)", flush=True)

    try:
        asyncio.run(PolicyServer(sources, options, fixed_batch(asked)).run(ready))
    except OSError as error:
        raise PolicyError(f"cannot listen on {options.host}:{options.port}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def _first_address(sockets: Sequence[Any]) -> tuple[str, int]:
    host, port, *_ = next(iter(sockets)).getsockname()
    return str(host), int(port)
