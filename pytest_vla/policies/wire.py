"""The two wire formats of remote policies, vla-eval's and openpi's: msgpack with arrays in it, read with distrust."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_vla.policies.base import PolicyError

try:
    import msgpack
except ImportError:
    raise PolicyError('remote policies need msgpack and websockets: pip install "pytest-vla[remote]"') from None

MAX_MESSAGE = 64 << 20  # bytes
MAX_UNPACKED = 32 << 20  # bytes of arrays and pictures in one message, as they are in memory
MAX_PARTS = 200_000  # numbers, texts and maps in one message
MAX_ONE_LIST = 50_000
PROTOCOL_VERSION = 1
EPISODE = "__episode__"  # beside an openpi observation: where it differs from the last one's, an episode begins
SPEC = "pytest_vla_spec"  # in a greeting of a server of ours: what its policy declares
NUMBER_KINDS = "biuf"
Received = bytes | memoryview | str
TYPES = frozenset({"hello", "observation", "action", "episode_start", "episode_end", "error"})


class WireError(Exception):
    """What was received is not a message of the protocol."""


class TooLarge(WireError):
    """A message would take more memory than its reader gives it."""


@dataclass
class Limits:
    """What one message may still cost its reader: a picture of a few bytes can be larger than the memory.

    A brief reader leaves to another what would take more than a moment: many parts, compressed pictures.
    """

    bytes: int = MAX_UNPACKED
    parts: int = MAX_PARTS
    brief: bool = False

    def spend(self, size: int, what: str) -> None:
        self.bytes -= size
        if self.bytes < 0:
            raise TooLarge(f"{what} are too much: a message may hold {MAX_UNPACKED} bytes of arrays and pictures")

    def count(self, parts: int) -> None:
        self.parts -= parts
        if self.parts < 0:
            raise (TooLarge if self.brief else WireError)(f"a message of more than {MAX_PARTS} parts")


class Packer:
    """Packs one message after the other to the same memory: a new block for each picture costs more than packing it."""

    def __init__(self, mark: Callable[[Any], Any]) -> None:
        self._packer = msgpack.Packer(default=mark, autoreset=False)

    @contextmanager
    def packed(self, message: Any) -> Iterator[memoryview]:
        """The bytes of a message, for as long as the context lasts."""
        self._packer.reset()
        self._packer.pack(message)
        with self._packer.getbuffer() as data:
            yield data


# --- vla-eval: an envelope with a sequence number, arrays marked by text keys, images perhaps compressed --------------


def pack_message(kind: str, payload: Mapping[str, Any], number: int) -> bytes:
    """One vla-eval message. Images go as plain arrays: every peer reads them, and nothing is spent on compression."""
    packed: bytes = msgpack.packb(envelope(kind, payload, number), default=mark_by_text)
    return packed


def envelope(kind: str, payload: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {"type": kind, "payload": payload, "seq": number, "timestamp": time.time()}


def unpack_message(data: Received, limits: Limits | None = None) -> tuple[str, dict[str, Any], int]:
    """Type, payload and sequence number of a vla-eval message; raises WireError for anything else."""
    message = _unpack(data, _unpack_marked_by_text, limits or Limits())
    if not isinstance(message, dict) or not {"type", "payload", "seq", "timestamp"} <= message.keys():
        raise WireError("a message must be a map with type, payload, seq and timestamp")
    kind, payload, number = message["type"], message["payload"], message["seq"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise WireError(f"unknown message type {str(kind)[:100]!r}")
    if not isinstance(payload, dict) or not isinstance(number, int):
        raise WireError("payload must be a map and seq a whole number")
    return kind, payload, number


def mark_by_text(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"__ndarray__": True, "data": _view(value), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    return _whole(value)


def _unpack_marked_by_text(value: dict[Any, Any], limits: Limits) -> Any:
    if "__image__" in value:
        return _image(value, limits)
    if "__ndarray__" in value:
        return _array(value["data"], value["dtype"], value["shape"], limits)
    return value


def _image(value: Mapping[str, Any], limits: Limits) -> Any:
    if value["format"] == "raw":
        return _array(value["data"], value["dtype"], value["shape"], limits)
    if value["format"] not in ("png", "jpeg"):
        raise WireError(f"unknown image format {value['format']!r}")
    if limits.brief:
        raise TooLarge("a compressed picture")
    try:
        from PIL import Image
    except ImportError:
        raise WireError("compressed images need Pillow") from None
    with Image.open(io.BytesIO(value["data"]), formats=[value["format"].upper()]) as image:
        limits.spend(
            image.width * image.height * max(len(image.getbands()), 1), f"{image.width} x {image.height} pixels"
        )
        return np.array(image)


# --- openpi: no envelope, arrays marked by byte keys ------------------------------------------------------------------


def pack_tree(tree: Any) -> bytes:
    packed: bytes = msgpack.packb(tree, default=mark_by_bytes)
    return packed


def unpack_tree(data: Received, limits: Limits | None = None) -> Any:
    return _unpack(data, _unpack_marked_by_bytes, limits or Limits())


def mark_by_bytes(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": _view(value), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    return _whole(value)


def _unpack_marked_by_bytes(value: dict[Any, Any], limits: Limits) -> Any:
    if b"__ndarray__" in value:
        return _array(value[b"data"], value[b"dtype"], value[b"shape"], limits)
    if b"__npgeneric__" in value:
        return _dtype(value[b"dtype"]).type(value[b"data"])
    return value


# --- both -------------------------------------------------------------------------------------------------------------


def _view(array: Any) -> memoryview:
    """The bytes of an array where they are: the message is their first copy."""
    view: memoryview = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return view


def _whole(value: Any) -> Any:
    """Pictures that are drawn when they are looked at are drawn now."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _unpack(data: Received, hook: Any, limits: Limits) -> Any:
    if isinstance(data, str):
        raise WireError(f"a text message: {data[:2000]}")

    def take_map(value: dict[Any, Any]) -> Any:
        limits.count(len(value))
        return hook(value, limits)

    def take_list(value: list[Any]) -> Any:
        limits.count(len(value))
        return value

    try:
        return msgpack.unpackb(
            data,
            object_hook=take_map,
            list_hook=take_list,
            raw=False,
            max_array_len=MAX_ONE_LIST,
            max_map_len=MAX_ONE_LIST,
        )
    except WireError:
        raise
    except Exception as error:  # whatever a hostile message can make the decoders raise
        raise WireError(f"a message of {len(data)} bytes cannot be read: {type(error).__name__}: {error}") from None


def _array(data: bytes, dtype: str, shape: Any, limits: Limits) -> Any:
    kind = _dtype(dtype)
    limits.spend(len(data), f"{len(data)} bytes")
    if not all(isinstance(length, int) and length >= 0 for length in shape):
        raise WireError(f"an array of shape {shape}")
    return np.frombuffer(data, kind).reshape(shape).copy()


def _dtype(text: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(text)
    if dtype.kind not in NUMBER_KINDS:
        raise WireError(f"an array of {dtype}; only numbers are accepted")
    return dtype


# --- names ------------------------------------------------------------------------------------------------------------


def renamed(tree: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A tree made of parts of another: target path -> source path, steps separated by dots."""
    made: dict[str, Any] = {}
    for target, source in names.items():
        value: Any = tree
        for step in source.split("."):
            if not isinstance(value, Mapping) or step not in value:
                raise WireError(f"there is no {source!r} in the observation; it has {_paths(tree)}")
            value = value[step]
        *folders, last = target.split(".")
        place = made
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return made


def state_vector(observation: Mapping[str, Any]) -> Any:
    """All numbers of the state in one float32 vector, in the order of the observation."""
    state = observation.get("state", {})
    parts = [np.ravel(np.asarray(value, np.float32)) for value in state.values()] if isinstance(state, Mapping) else []
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _paths(tree: Mapping[str, Any], prefix: str = "") -> str:
    found = []
    for key, value in tree.items():
        found.append(_paths(value, f"{prefix}{key}.") if isinstance(value, Mapping) else f"{prefix}{key}")
    return ", ".join(filter(None, found))
