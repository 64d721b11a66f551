"""RLDS episodes in TFRecord files, read and written without TensorFlow: records, protocol buffers, steps."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..samples import IMAGES, NO_STATE
from .files import DataError, Row, picture

Feature = list[bytes] | list[float] | list[int]
_LENGTH = struct.Struct("<QI")
_CRC = struct.Struct("<I")
BYTES, FLOATS, INTS = 1, 2, 3  # the fields of a Feature
TEXTS = (
    "steps/observation/natural_language_instruction",
    "steps/language_instruction",
    "steps/natural_language_instruction",
    "steps/action_instruct",
)


# --- records ---------------------------------------------------------------------------------------------------------


def records(path: Path) -> Iterator[bytes]:
    """The payloads of a file, each as long as its checked header says."""
    with path.open("rb") as file:
        while header := file.read(_LENGTH.size):
            if len(header) < _LENGTH.size:
                raise DataError(f"{path} ends in the middle of a record")
            length, crc = _LENGTH.unpack(header)
            if masked_crc(header[:8]) != crc:
                raise DataError(f"{path} is no TFRecord file, or is damaged: the checksum of a length is wrong")
            payload = file.read(length)
            if len(payload) < length or len(file.read(_CRC.size)) < _CRC.size:
                raise DataError(f"{path} ends in the middle of a record")
            yield payload


def write_records(path: Path, payloads: Sequence[bytes]) -> None:
    with path.open("wb") as file:
        for payload in payloads:
            length = struct.pack("<Q", len(payload))
            file.write(length + _CRC.pack(masked_crc(length)) + payload + _CRC.pack(masked_crc(payload)))


def masked_crc(data: bytes) -> int:
    """CRC-32C, turned and moved as these files have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _table()


# --- protocol buffers ------------------------------------------------------------------------------------------------


def example(payload: bytes) -> dict[str, Feature]:
    """The features of a `tf.train.Example`."""
    found: dict[str, Feature] = {}
    for _, features in _fields(payload):
        for _, entry in _fields(_text(features)):
            name, feature = "", b""
            for number, value in _fields(_text(entry)):
                if number == 1:
                    name = _text(value).decode()
                else:
                    feature = _text(value)
            found[name] = _feature(feature)
    return found


def _feature(data: bytes) -> Feature:
    for kind, values in _fields(data):
        if kind == BYTES:
            return [_text(value) for _, value in _fields(_text(values))]
        if kind == FLOATS:
            return _floats(_text(values))
        return _ints(_text(values))
    return []


def _floats(data: bytes) -> list[float]:
    found: list[float] = []
    for _, value in _fields(data):
        packed = value if isinstance(value, bytes) else struct.pack("<I", value)
        found += np.frombuffer(packed, "<f4").tolist()
    return found


def _ints(data: bytes) -> list[int]:
    found: list[int] = []
    for _, value in _fields(data):
        if isinstance(value, int):
            found.append(_signed(value))
            continue
        place = 0
        while place < len(value):
            number, place = _varint(value, place)
            found.append(_signed(number))
    return found


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """(number, value) of every field of a message: bytes, or a number."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield key >> 3, value
        elif kind == 2:
            length, place = _varint(data, place)
            if place + length > len(data):
                raise DataError("a message is shorter than it says")
            yield key >> 3, data[place : place + length]
            place += length
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield key >> 3, int.from_bytes(data[place : place + size], "little")
            place += size
        else:
            raise DataError(f"a message has a field of kind {kind}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place
    raise DataError("a number in a message does not end")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _text(value: bytes | int) -> bytes:
    if isinstance(value, int):
        raise DataError("a message has a number where a part of it was expected")
    return value


def encoded(features: Mapping[str, Feature]) -> bytes:
    """A `tf.train.Example` of these features."""
    entries = b""
    for name, values in features.items():
        if values and isinstance(values[0], bytes):
            inner = _message(BYTES, b"".join(_message(1, value) for value in values))
        elif values and isinstance(values[0], float):
            inner = _message(FLOATS, _message(1, np.asarray(values, "<f4").tobytes()))
        else:
            inner = _message(INTS, _message(1, b"".join(_number(int(value)) for value in values)))
        entries += _message(1, _message(1, name.encode()) + _message(2, inner))
    return _message(1, entries)


def _message(field: int, content: bytes) -> bytes:
    return _number(field << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# --- episodes --------------------------------------------------------------------------------------------------------


def rlds_rows(path: Path, dimensions: int) -> Iterator[Row]:
    """The steps of all episodes in a file; an action of several parts is put together in the order of their names."""
    for number, payload in enumerate(records(path)):
        features = example(payload)
        action = _action(features, dimensions, path)
        image = next(
            (features[f"steps/observation/{name}"] for name in IMAGES if f"steps/observation/{name}" in features), None
        )
        texts = next((features[name] for name in TEXTS if name in features), None)
        last = features.get("steps/is_last")
        for step in range(len(action)):
            row: Row = {"episode": f"{path.name}:{number}", "step": step, "action": action[step]}
            if image is not None:
                row["image_observation"] = _later(image[step])
            if texts:
                row["text_observation"] = _words(texts[step] if len(texts) == len(action) else texts[0])
            row["is_last"] = bool(last[step]) if last else step == len(action) - 1
            yield {**row, **_state(features, step, len(action))}


def _action(features: Mapping[str, Feature], dimensions: int, path: Path) -> Any:
    parts = sorted(name for name in features if name == "steps/action" or name.startswith("steps/action/"))
    floats = [np.asarray(features[name], np.float32) for name in parts if _is_floats(features[name])]
    if not floats:
        raise DataError(f"{path}: an episode has no 'steps/action'")
    if len(floats) == 1:
        if len(floats[0]) % dimensions:
            raise DataError(f"{path}: {len(floats[0])} numbers are no actions of {dimensions} dimensions")
        return floats[0].reshape(-1, dimensions)
    steps = len(features.get("steps/is_last", [])) or 1
    joined = np.concatenate([part.reshape(steps, -1) for part in floats], axis=1)
    if joined.shape[1] != dimensions:
        raise DataError(f"{path}: actions have {joined.shape[1]} dimensions, not {dimensions}")
    return joined


def _is_floats(feature: Feature) -> bool:
    return bool(feature) and isinstance(feature[0], float)


def _state(features: Mapping[str, Feature], step: int, steps: int) -> Row:
    state = {}
    for name, values in features.items():
        short = name.removeprefix("steps/observation/")
        usable = name != short and _is_floats(values) and not any(word in short for word in NO_STATE)
        if usable and len(values) % steps == 0:
            state[short] = np.asarray(values, np.float32).reshape(steps, -1)[step]
    return state


def _later(data: Any) -> Any:
    return lambda: picture(data)


def _words(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
