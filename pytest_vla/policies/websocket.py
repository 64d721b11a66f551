"""A policy that runs elsewhere: `ws://` and `wss://` addresses of vla-eval and openpi servers."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
import urllib.error
import urllib.request
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import numpy as np

from pytest_vla._version import __version__
from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.connection import CONNECT_LIMIT_S, Conversation, connect
from pytest_vla.policies.trees import READS_TREES, TooMuchNews, TreeWriter
from pytest_vla.policies.wire import (
    EPISODE,
    MAX_MESSAGE,
    PROTOCOL_VERSION,
    SPEC,
    Packer,
    WireError,
    envelope,
    mark_by_bytes,
    mark_by_text,
    renamed,
    state_vector,
    unpack_message,
    unpack_tree,
)
from pytest_vla.tree import TreeError

try:
    from websockets.exceptions import WebSocketException
except ImportError:
    raise PolicyError('remote policies need msgpack and websockets: pip install "pytest-vla[remote]"') from None

TOKEN_VARIABLE = "PYTEST_VLA_TOKEN"
REPLY_LIMIT_S = 60.0
GREETING_LIMIT_S = 1.0  # an openpi server speaks first, and at once
AWAY_LIMIT_S = 60.0  # how long a server may be away between two episodes
BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0)
ANY_LENGTH = 1000  # actions in a chunk whose length the server does not tell


@dataclass(frozen=True)
class Address:
    """`ws://HOST:PORT/PATH?timeout=S&protocol=P&THEIRS=OURS...`: the rest of the query names parts of the observation.

    The query stays here. A token comes from the environment: an address is written into the run file.
    """

    url: str
    timeout: float = REPLY_LIMIT_S
    token: str = ""
    protocol: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Address:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            timeout = float(query.pop("timeout", REPLY_LIMIT_S))
        except ValueError:
            raise PolicyError(f"the timeout in {text!r} must be a number of seconds") from None
        token, protocol = os.environ.get(TOKEN_VARIABLE, ""), query.pop("protocol", "")
        if protocol not in ("", "vla-eval", "openpi"):
            raise PolicyError(f"unknown protocol {protocol!r} in {text!r}; there are vla-eval and openpi")
        return cls(urlunsplit(parts._replace(query="", fragment="")), timeout, token, protocol, query)

    def connect(self) -> AbstractContextManager[Conversation]:
        return connect(self.url, {"Authorization": f"Api-Key {self.token}"} if self.token else {}, MAX_MESSAGE)


def connect_policy(text: str) -> tuple[RemotePolicy, str]:
    """The policy behind an address and a digest of what the server says of itself."""
    address = Address.parse(text)
    protocol = address.protocol or _detect(address)
    try:
        policy = VlaEvalPolicy(address) if protocol == "vla-eval" else OpenpiPolicy(address)
    except (OSError, WebSocketException, WireError, TimeoutError) as error:
        raise PolicyError(f"no policy server answers at {address.url}: {error}") from None
    described = hashlib.sha256(repr(sorted(policy.greeting.items(), key=str)).encode()).hexdigest()[:32]
    return policy, f"{protocol}:{address.url}:{described}"


@dataclass
class RemoteState:
    """One episode: its connection, which no other episode uses meanwhile."""

    key: EpisodeKey
    link: Link

    def __deepcopy__(self, memo: dict[int, Any]) -> RemoteState:
        return self  # a connection cannot be rewound


class Link:
    """A connection with its message counter. After any fault it is closed: a late reply has no one to deceive."""

    def __init__(self, address: Address, mark: Callable[[Any], Any]) -> None:
        self.address = address
        self._packer = Packer(mark)
        self.number = 0
        self.steps = -1  # no episode yet
        self.episode: dict[str, Any] | None = None  # what the server is told of it, beside each observation
        self.trees: TreeWriter | None = None  # where the server takes observations as they are
        self._open = ExitStack()
        self.connection: Conversation | None = self._open.enter_context(address.connect())

    def send(self, message: Any) -> None:
        with self._packer.packed(message) as data:
            self.send_packed(data)

    def send_packed(self, data: memoryview) -> None:
        if self.connection is None:
            raise EpisodeError("server_lost", f"the connection to {self.address.url} was lost earlier in this episode")
        self.connection.send(data)

    def receive(self) -> bytes | str:
        assert self.connection is not None
        return self.connection.recv(self.address.timeout)

    def close(self) -> None:
        self.connection = None
        self._open.close()


class RemotePolicy(Policy):
    """What both protocols share: a connection per episode, all requests of a batch under way at the same time."""

    greeting: dict[str, Any]
    mark: Callable[[Any], Any]  # how arrays are told from other things in a message

    def __init__(self, address: Address) -> None:
        self.address = address
        link = Link(address, self.mark)
        try:
            self.greeting = self._greet(link)
            self.spec = _told_spec(self.greeting, self.spec)
        except BaseException:
            link.close()
            raise
        self._idle = [link]

    def reset(self, episode: EpisodeKey) -> RemoteState:
        """An episode on a connection that lives; a server that is away for a while is waited for."""
        last = monotonic() + AWAY_LIMIT_S
        for pause in itertools.chain(BACKOFF_S, itertools.repeat(BACKOFF_S[-1])):
            link = self._idle.pop() if self._idle else None
            try:
                if link is None:
                    link = Link(self.address, self.mark)
                    self._greet(link)
                self._begin(link, episode)
                return _with_return(RemoteState(episode, link), self._idle)
            except (OSError, WebSocketException, WireError, TimeoutError) as error:
                if link is not None:
                    link.close()
                if monotonic() + pause > last:
                    raise EpisodeError("server_lost", f"{self.address.url}: {error}") from None
                if not self._idle:
                    time.sleep(pause)
        raise AssertionError("the pauses never end")

    def act(self, observations: Sequence[Observation], states: Sequence[RemoteState]) -> list[Any]:
        """An action or an exception for each observation: one lost connection is one lost episode."""
        sent = [
            self._try(state, self._ask, observation) for observation, state in zip(observations, states, strict=True)
        ]
        return [
            failed if isinstance(failed, Exception) else self._try(state, self._answer)
            for failed, state in zip(sent, states, strict=True)
        ]

    def _try(self, state: RemoteState, call: Any, *arguments: Any) -> Any:
        link = state.link
        try:
            return call(link, *arguments)
        except TimeoutError:
            error = EpisodeError("timeout", f"{self.address.url} gave no action within {self.address.timeout:g} s")
        except (OSError, WebSocketException) as lost:
            error = EpisodeError("server_lost", f"{self.address.url}: {lost}")
        except EpisodeError as known:
            error = known
        except (WireError, PolicyError) as wrong:
            error = EpisodeError("policy_error", f"{self.address.url}: {wrong}")
        link.close()
        return error

    @abstractmethod
    def _greet(self, link: Link) -> dict[str, Any]:
        """Shake hands on a new connection; what the server says of itself."""

    def _begin(self, link: Link, episode: EpisodeKey) -> None:
        """Tell the server that an episode begins, where the protocol can."""

    @abstractmethod
    def _ask(self, link: Link, observation: Observation) -> None: ...

    @abstractmethod
    def _answer(self, link: Link) -> Any: ...


class VlaEvalPolicy(RemotePolicy):
    """Messages carry sequence numbers; a reply with any other than the last one's is an error, never an action."""

    spec = PolicySpec()
    mark = staticmethod(mark_by_text)

    def _greet(self, link: Link) -> dict[str, Any]:
        hello = {"harness_version": f"pytest-vla {__version__}", "protocol_version": PROTOCOL_VERSION}
        self._say(link, "hello", hello)
        kind, payload, number = unpack_message(link.receive())
        if kind != "hello" or number != link.number:
            raise WireError(f"expected hello, got {kind}")
        if payload.get("protocol_version") != PROTOCOL_VERSION:
            raise WireError(f"it speaks version {payload.get('protocol_version')} of the vla-eval protocol, we speak 1")
        if READS_TREES in payload and not self.address.names:
            link.trees = TreeWriter()
        told = ("model_server", "model_digest", "harness_version", "action_spec", "observation_spec", SPEC)
        return {key: payload[key] for key in told if key in payload}

    def _begin(self, link: Link, episode: EpisodeKey) -> None:
        if link.steps >= 0:
            self._say(link, "episode_end", {"metrics": {}, "steps": link.steps, "elapsed_sec": 0.0})
        task = {**asdict(episode), "name": episode.task, "episode_idx": episode.index}
        self._say(link, "episode_start", {"task": task})
        if link.trees is not None:
            link.trees.begin()
        link.steps = 0

    def _ask(self, link: Link, observation: Observation) -> None:
        if link.trees is not None:
            try:
                message = link.trees.packed(observation, link.number + 1)
            except TooMuchNews:
                pass  # the protocol has no such limit
            except TreeError as error:
                raise EpisodeError("env_error", str(error)) from None
            else:
                link.number += 1
                link.send_packed(message)
                return
        names = self.address.names
        self._say(link, "observation", renamed(observation, names) if names else _for_vla_eval(observation))

    def _answer(self, link: Link) -> Any:
        kind, payload, number = unpack_message(link.receive())
        if kind == "error":
            raise PolicyError(f"the server says: {payload.get('error')}")
        if number != link.number:
            raise PolicyError(f"the reply to message {number} came for message {link.number}")
        if kind != "action" or "actions" not in payload:
            raise PolicyError(f"expected an action, got {kind} with {sorted(payload)}")
        link.steps += 1
        return payload["actions"]

    def _say(self, link: Link, kind: str, payload: Mapping[str, Any]) -> None:
        link.number += 1
        link.send(envelope(kind, payload, link.number))


class OpenpiPolicy(RemotePolicy):
    """The server speaks first; then observation, chunk of actions, observation, ... without numbers."""

    spec = PolicySpec(chunk=ANY_LENGTH)
    mark = staticmethod(mark_by_bytes)

    def _greet(self, link: Link) -> dict[str, Any]:
        metadata = unpack_tree(link.receive())
        return metadata if isinstance(metadata, dict) else {}

    def _begin(self, link: Link, episode: EpisodeKey) -> None:
        """The protocol has no word for it: a server of ours takes a key beside the observation, others get none."""
        link.episode = asdict(episode) if "pytest_vla" in self.greeting else None

    def _ask(self, link: Link, observation: Observation) -> None:
        names = self.address.names
        if names:
            made = renamed(observation, names)
        else:
            made = dict(observation) if SPEC in self.greeting else _for_openpi(observation)
        link.send({**made, EPISODE: link.episode} if link.episode is not None else made)

    def _answer(self, link: Link) -> Any:
        reply = link.receive()
        if isinstance(reply, str):
            raise PolicyError(f"the server says: {reply[:4000]}")
        answer = unpack_tree(reply)
        if not isinstance(answer, dict) or "actions" not in answer:
            raise PolicyError(f"expected a map with actions, got {type(answer).__name__}")
        return np.asarray(answer["actions"])


def _told_spec(greeting: Mapping[str, Any], usual: PolicySpec) -> PolicySpec:
    """What a server says of its policy, so that it is checked as if it were here: all of it where the server is ours.

    One of vla-eval's may tell how many numbers its parts have (`action_spec`, `observation_spec`).
    """
    told = greeting.get(SPEC)
    if not isinstance(told, dict):
        actions, seen = greeting.get("action_spec"), greeting.get("observation_spec")
        state = {"state": seen["state"]} if isinstance(seen, dict) and "state" in seen else None
        size = _numbers(state)
        return replace(usual, action_size=_numbers(actions), state=bool(size), state_size=size)
    try:
        return PolicySpec.from_dict(told)
    except (TypeError, ValueError, AttributeError) as error:
        raise PolicyError(f"the server tells a spec that cannot be read: {error}") from None


def _numbers(parts: Any) -> int:
    """How many numbers parts have in all; 0 where one does not say."""
    entries = [*parts.values()] if isinstance(parts, dict) else []
    sizes = [size for part in entries if isinstance(part, dict) and type(size := part.get("dims")) is int and size > 0]
    return sum(sizes) if len(sizes) == len(entries) else 0


def _for_vla_eval(observation: Observation) -> dict[str, Any]:
    """Its conventions; what it has no name for keeps ours."""
    made = {key: value for key, value in observation.items() if key != "instruction"}
    return {**made, "task_description": observation.get("instruction", ""), "states": state_vector(observation)}


def _for_openpi(observation: Observation) -> dict[str, Any]:
    """The keys of its LIBERO policies: one image, one wrist image, a state vector, a text."""
    made: dict[str, Any] = {
        "prompt": observation.get("instruction", ""),
        "observation/state": state_vector(observation),
    }
    for number, (camera, image) in enumerate(observation.get("images", {}).items()):
        made[f"observation/{('image', 'wrist_image')[number] if number < 2 else camera}"] = image
    return made


def _with_return(state: RemoteState, idle: list[Link]) -> RemoteState:
    """Give the connection back when nobody can use the episode any more."""
    import weakref

    def give_back(link: Link) -> None:
        if link.connection is not None:
            idle.append(link)

    weakref.finalize(state, give_back, state.link).atexit = False
    return state


def _detect(address: Address) -> str:
    """vla-eval answers /health with JSON, openpi answers /healthz; otherwise we listen whether it speaks first."""
    http = address.url.replace("ws", "http", 1)
    parts = urlsplit(http)
    for path, protocol in (("/health", "vla-eval"), ("/healthz", "openpi")):
        body = _get(urlunsplit(parts._replace(path=path)))
        if body is not None and (protocol == "openpi" or _is_json(body)):
            return protocol
    try:
        with address.connect() as connection:
            connection.recv(GREETING_LIMIT_S)
            return "openpi"
    except TimeoutError:
        return "vla-eval"
    except (OSError, WebSocketException) as error:
        raise PolicyError(f"no policy server answers at {address.url}: {error}") from None


def _get(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=CONNECT_LIMIT_S) as reply:
            return str(reply.read(4096).decode(errors="replace"))
    except (urllib.error.HTTPError, ValueError):
        return None
    except OSError:
        return None


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
