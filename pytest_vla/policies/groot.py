"""Policies behind GR00T's own server: `groot://HOST:PORT`, ZeroMQ requests of msgpack with arrays in them.

The protocol is that of NVIDIA/Isaac-GR00T at commit b995540, `gr00t/policy/server_client.py`: endpoints `ping`,
`get_modality_config`, `reset`, `get_action`; an observation has `video`, `state` and `language`, each row with an axis
of time; an answer is the parts of a chunk by name, and a map that says more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.digests import text_digest

try:
    import msgpack
    import zmq
except ImportError:
    raise PolicyError('GR00T servers need ZeroMQ: pip install "pytest-vla[groot]"') from None

SCHEME = "groot://"
TOKEN_VARIABLE = "PYTEST_VLA_TOKEN"
REPLY_LIMIT_S = 60.0
MAX_REPLY = 64 << 20  # bytes


@dataclass(frozen=True)
class Modality:
    """What a server wants or gives of one kind: names, and how many steps."""

    names: tuple[str, ...]
    steps: int


@dataclass(frozen=True)
class Modalities:
    """All of a server's: as it says itself."""

    video: Modality
    state: Modality
    language: Modality
    action: Modality

    @classmethod
    def told(cls, data: Any) -> Modalities:
        try:
            found = {name: _modality(name, data[name]) for name in ("video", "state", "language", "action")}
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(f"the server's modalities cannot be read: {type(error).__name__}: {error}") from None
        return cls(**found)


def _modality(name: str, data: Mapping[str, Any]) -> Modality:
    indices = [int(index) for index in data["delta_indices"]]
    if name != "action" and indices != [0]:
        raise PolicyError(f"the server wants {name} of the steps {indices}; only the present one ([0]) can be given")
    return Modality(tuple(map(str, data["modality_keys"])), len(indices))


class GrootPolicy(Policy):
    """All rows of a batch are one request: the server takes as many as there are."""

    def __init__(self, url: str, names: Mapping[str, str], timeout: float = REPLY_LIMIT_S) -> None:
        self.url, self.names, self.timeout = url, names, timeout
        self._lock = Lock()
        self._context = zmq.Context()
        self._connect()
        self.modalities = Modalities.told(self._call("get_modality_config"))
        self.spec = PolicySpec(chunk=max(self.modalities.action.steps, 2))

    def reset(self, episode: EpisodeKey) -> None:
        self._call("reset", {"options": None})

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        rows = [self._row(observation) for observation in observations]
        asked = {
            "video": {name: np.stack([row["video"][name] for row in rows]) for name in self.modalities.video.names},
            "state": {name: np.stack([row["state"][name] for row in rows]) for name in self.modalities.state.names},
            "language": {name: [[row["text"]] for row in rows] for name in self.modalities.language.names},
        }
        answer = self._call("get_action", {"observation": asked, "options": None})
        try:
            parts = [np.asarray(answer[0][name], np.float32) for name in self.modalities.action.names]
            return list(np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=2))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PolicyError(f"{self.url} gave no actions {self.modalities.action.names}: {error}") from None

    def _row(self, observation: Observation) -> dict[str, Any]:
        """One observation in their names, with an axis of time."""
        images, state = observation.get("images", {}), observation.get("state", {})
        video = {
            name: np.asarray(self._part("video", name, place, images, "camera"), np.uint8)[None]
            for place, name in enumerate(self.modalities.video.names)
        }
        numbers = {
            name: np.ravel(self._part("state", name, place, state, "state key")).astype(np.float32)[None]
            for place, name in enumerate(self.modalities.state.names)
        }
        return {"video": video, "state": numbers, "text": str(observation.get("instruction", ""))}

    def _part(self, kind: str, name: str, place: int, given: Mapping[str, Any], what: str) -> Any:
        """What was named in the address, what has the same name, or else what stands in the same place."""
        ours = self.names.get(f"{kind}.{name}", name)
        if ours in given:
            return given[ours]
        if f"{kind}.{name}" not in self.names and place < len(given):
            return given[[*given][place]]
        has = ", ".join(map(repr, given)) or "none"
        raise PolicyError(
            f"the server wants {kind} '{name}'; there is {what} {has}: add {kind}.{name}=OURS to the address"
        )

    # --- the wire ----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._socket = self._context.socket(zmq.REQ)
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            self._socket.setsockopt(option, int(1e3 * self.timeout))
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REPLY)
        self._socket.connect(self.url.replace(SCHEME, "tcp://", 1))

    def _call(self, endpoint: str, data: Mapping[str, Any] | None = None) -> Any:
        request: dict[str, Any] = {"endpoint": endpoint, **({} if data is None else {"data": data})}
        if os.environ.get(TOKEN_VARIABLE):
            request["api_token"] = os.environ[TOKEN_VARIABLE]
        with self._lock:
            try:
                self._socket.send(pack(request))
                reply = unpack(self._socket.recv())
            except zmq.ZMQError as error:
                self._socket.close()  # one that waits for a reply can ask nothing else
                self._connect()
                if isinstance(error, zmq.Again):
                    raise EpisodeError("timeout", f"{self.url} gave no answer within {self.timeout:g} s") from None
                raise EpisodeError("server_lost", f"{self.url}: {error}") from None
        if isinstance(reply, dict) and "error" in reply:
            raise PolicyError(f"{self.url} says: {str(reply['error'])[:4000]}")
        return reply

    def close(self) -> None:
        self._socket.close()
        self._context.term()


def pack(data: Any) -> bytes:
    packed: bytes = msgpack.packb(data, default=_packed)
    return packed


def _packed(value: Any) -> Any:
    """An array in the form of msgpack-numpy, which is theirs."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        shape = list(value.shape)
        return {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": shape, b"data": value.tobytes()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def unpack(data: bytes) -> Any:
    """A reply. Arrays are numbers: whatever would have to be unpickled is refused."""
    try:
        return msgpack.unpackb(data, object_hook=_unpacked, raw=False, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise PolicyError(f"the server's reply cannot be read: {error}") from None


def _unpacked(found: dict[Any, Any]) -> Any:
    told = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    if told.get("__ModalityConfig__") or told.get("__ModalityConfig_class__"):
        text = told["as_json"]
        return json.loads(text) if isinstance(text, (str, bytes)) else text
    if "nd" not in told or "data" not in told:
        return found
    kind = np.dtype(told["type"])
    if kind.kind not in "biuf" or told.get("kind") in (b"O", "O"):
        raise ValueError(f"an array of {kind} is refused")
    numbers = np.frombuffer(told["data"], kind)
    return numbers.reshape(told["shape"]).copy() if told["nd"] else numbers[0]


@dataclass(frozen=True)
class Address:
    """`groot://HOST:PORT?timeout=S&video.THEIRS=OURS&state.THEIRS=OURS`."""

    url: str
    timeout: float = REPLY_LIMIT_S
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Address:
        parts = urlsplit(text)
        if not parts.hostname or not parts.port:
            raise PolicyError(f"write {SCHEME}HOST:PORT, got {text!r}")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            timeout = float(query.pop("timeout", REPLY_LIMIT_S))
        except ValueError:
            raise PolicyError(f"the timeout in {text!r} must be a number of seconds") from None
        return cls(f"{SCHEME}{parts.hostname}:{parts.port}", timeout, query)


def connect_policy(text: str) -> tuple[GrootPolicy, str]:
    """The policy behind an address, and a digest of what the server says of itself."""
    address = Address.parse(text)
    try:
        policy = GrootPolicy(address.url, address.names, address.timeout)
    except EpisodeError as error:
        raise PolicyError(f"no GR00T server answers: {error}") from None
    told = text_digest(repr(policy.modalities), repr(sorted(address.names.items())))
    return policy, f"groot:{address.url}:{told[:32]}"
