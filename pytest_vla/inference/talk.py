"""One connection of a client that speaks vla-eval's or openpi's protocol: its episodes, its chunks, its mistakes."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla._version import __version__
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.engine import Episode, Failure, Job
from pytest_vla.inference.intake import DELAY_S, LONGEST_DELAY_S
from pytest_vla.inference.local import declared
from pytest_vla.inference.received import from_openpi, from_vla_eval
from pytest_vla.policies.base import PolicyError, PolicySpec
from pytest_vla.policies.chunking import Chunked, ChunkState, covered
from pytest_vla.policies.trees import READS_TREES, TreeReader, is_tree
from pytest_vla.policies.wire import (
    EPISODE,
    PROTOCOL_VERSION,
    SPEC,
    Limits,
    Received,
    WireError,
    pack_message,
    pack_tree,
    unpack_message,
    unpack_tree,
)
from pytest_vla.tree import TreeError, flatten, plain, signature

if TYPE_CHECKING:
    from pytest_vla.inference.intake import Connection
    from pytest_vla.inference.serve import PolicyServer

GREETING_LIMIT_S = 1.0  # who has not spoken by then is an openpi client and waits for us
TREE = "tree"  # an observation of a client of ours
FORGETS = "the policy remembers things of an episode, and keeps them from one to the next"


class Talk:
    """One connection."""

    def __init__(self, server: PolicyServer, connection: Connection, number: int) -> None:
        self.server, self.connection, self.number = server, connection, number
        self.desk = server.quietest()
        self._trees = TreeReader()
        self._chunked = Chunked(server.policy, server.horizon, server.ensemble)
        self._begin(EpisodeKey("remote", "connection", "", number))
        self.asked = self.heard = False
        self._failures = 0
        self._loop = asyncio.get_running_loop()
        self._silent_since: float | None = None

    def _begin(self, key: EpisodeKey) -> None:
        """A new episode: nothing that the policy knows, and no action that it gave, outlasts the last one."""
        self._episode, self._chunks = Episode(key), ChunkState(None)
        self._trees.begin()
        self._kind: Hashable = None  # of the last observation

    async def run(self) -> None:
        first = None
        if self.server.options.protocol != "openpi":
            limit = GREETING_LIMIT_S if self.server.options.protocol == "auto" else self.server.options.idle_limit
            try:
                first = await asyncio.wait_for(self.connection.next(), limit)
            except TimeoutError:
                if self.server.options.protocol != "auto":
                    raise
        async with asyncio.timeout(None) as self._patience:
            self._watch()
            try:
                await (self._openpi() if first is None else self._vla_eval(first))
            finally:
                self._timer.cancel()

    async def _failed(self) -> None:
        """What an observation that cannot be used costs who sent it: time."""
        self._failures += 1
        self.server.strike(self.connection)
        await asyncio.sleep(min(DELAY_S * self._failures, LONGEST_DELAY_S))

    def _watch(self) -> None:
        """End it when nothing has been heard for too long, or look again when that may be: no message waits for it."""
        since = self._loop.time() if self._silent_since is None else self._silent_since
        end = since + self.server.options.idle_limit
        if end <= self._loop.time():
            self._patience.reschedule(end)
        else:
            self._timer = self._loop.call_at(end, self._watch)

    async def _next(self) -> Received:
        self._silent_since = self._loop.time()
        data = await self.connection.next()
        self._silent_since = None
        return data

    # --- vla-eval ----------------------------------------------------------------------------------------------------

    async def _vla_eval(self, data: Received) -> None:
        while True:
            self.asked = True
            kind, payload, number = await self.server.read(self.connection, self._unpack, data)
            self.heard = True
            if kind == "hello":
                await self.connection.send(pack_message("hello", self._introduction(), number))
            elif kind == "episode_start":
                self._begin(_episode_key(payload.get("task"), self.number))
                self.desk.live.add(self)
            elif kind == "episode_end":
                self.desk.live.discard(self)
            elif kind in ("observation", TREE):
                await self._observation(kind, payload, number)
            self.asked = False
            data = await self._next()

    def _unpack(self, data: Received, limits: Limits) -> tuple[str, dict[str, Any], int]:
        """A message of vla-eval, or an observation of a client of ours."""
        if not isinstance(data, str) and is_tree(data):
            return (TREE, *self._trees.read(data, limits))
        return unpack_message(data, limits)

    async def _observation(self, kind: str, payload: dict[str, Any], number: int) -> None:
        try:
            if kind != TREE:
                payload = from_vla_eval(payload, self.server.options.names)
            if kind != TREE or self._trees.is_new:
                self._kind = None
            action = await self._one_action(payload)
        except (PolicyError, WireError, TreeError) as error:
            await self._failed()
            reply = pack_message("error", {"error": f"observation_failed: {error}"}, number)
        else:
            reply = pack_message("action", {"actions": self.server.flat(action)}, number)
        await self.connection.answer(reply)

    async def _one_action(self, observation: Mapping[str, Any]) -> Any:
        """One action a step, of a chunk while there is one."""
        if self.server.spec.chunk <= 1:
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
            SPEC: self._told(chunk=1),
            **({} if self.server.options.names else {READS_TREES: 1}),
        }

    def _told(self, chunk: int) -> dict[str, Any]:
        """What a client of ours needs in order to treat this policy as if it were its own: how it is asked is done."""
        told: PolicySpec = replace(self.server.spec, chunk=chunk, horizon=None, ensemble=None)
        return told.to_dict()

    # --- openpi ------------------------------------------------------------------------------------------------------

    async def _openpi(self) -> None:
        steps = covered(self.server.spec, self.server.horizon)
        metadata = {"policy": self.server.name, "digest": self.server.digest, "pytest_vla": __version__}
        await self.connection.send(pack_tree({**metadata, SPEC: self._told(chunk=max(steps, 2))}))
        last: Any = None
        while True:
            received = await self.server.read(self.connection, unpack_tree, await self._next())
            self.heard = True
            start = monotonic()
            try:
                if not isinstance(received, dict):
                    raise WireError(f"an observation must be a map, got {type(received).__name__}")
                episode = received.pop(EPISODE, None)
                if episode is not None and episode != last:
                    last = episode
                    self._begin(_episode_key(episode if isinstance(episode, dict) else {"name": str(episode)}, 0))
                self._kind = None
                actions = await self._some_actions(from_openpi(received, self.server.options.names), steps)
            except (PolicyError, WireError, TreeError) as error:
                await self._failed()
                await self.connection.send(str(error))
                await self.connection.close(1011, "the policy failed")
                return
            if last is None and self._episode.state is not None:
                self.server.say_once(f"{FORGETS}: a client never said where one begins (the key {EPISODE})")
            timing = {"infer_ms": 1e3 * (monotonic() - start)}
            await self.connection.answer(pack_tree({"actions": np.stack(actions), "server_timing": timing}))

    async def _some_actions(self, observation: Mapping[str, Any], steps: int) -> list[Any]:
        """As many actions as are executed of an answer, each what overlapping chunks make of it."""
        first = await self._one_action(observation)
        more = [] if self._chunked.is_due(self._chunks) or self.server.spec.chunk <= 1 else range(steps - 1)
        actions = [first]
        for _ in more:
            if self._chunked.is_due(self._chunks):
                break
            actions.append(self._chunked.next(self._chunks))
        return [self.server.flat(action) for action in actions]

    # --- both --------------------------------------------------------------------------------------------------------

    async def _ask(self, observation: Mapping[str, Any]) -> Any:
        self.desk.live.add(self)
        _check(observation, self.server.spec)
        observation = declared(observation, self.server.spec)
        if self._kind is None:
            self._kind = signature(flatten(observation)[0])
        job = Job(self._episode, observation, self._kind)
        answer = await self.desk.ask(self, job)
        if isinstance(answer, Failure):
            raise PolicyError(answer.message)
        return plain(answer)


def _check(observation: Mapping[str, Any], spec: PolicySpec) -> None:
    """What the policy declared must be there, as it must in a suite."""
    for what, wanted, part in (("camera", spec.cameras, "images"), ("state key", spec.state_keys, "state")):
        there = observation.get(part) or {}
        lacking = [name for name in wanted if name not in there]
        if lacking and not (part == "images" and spec.conventions.cameras):
            had = ", ".join(map(repr, there)) or "none"
            wanted_names = ", ".join(map(repr, lacking))
            raise PolicyError(f"the policy needs {what} {wanted_names}; the client sends {had}: see --map")


def _episode_key(task: Any, number: int) -> EpisodeKey:
    """The key of an episode that began elsewhere. Our own client sends all of it, others a name and an index."""
    task = task if isinstance(task, dict) else {}
    key = EpisodeKey("remote", str(task.get("name", "task")), "", number)
    known = {item.name: type(getattr(key, item.name)) for item in fields(EpisodeKey)}
    given = {"index": task.get("episode_idx", number), **{name: task[name] for name in known if name in task}}
    return replace(key, **{name: value for name, value in given.items() if type(value) is known[name]})
