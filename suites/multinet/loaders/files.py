"""Files that hold rows: JSON lines, JSON, CSV, npz, pictures, and pickles of nothing but plain values."""

from __future__ import annotations

import base64
import csv
import io
import json
import pickle
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]
LARGEST_FIELD = 1 << 28  # bytes of one cell of a CSV file: pictures stand in it as text


class DataError(ValueError):
    """A file is not what it should be."""


def json_lines(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            rows.append(_object(line, f"{path}, line {number}"))
    return rows


def json_file(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None


def csv_file(path: Path) -> list[Row]:
    csv.field_size_limit(LARGEST_FIELD)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def plain_pickle(path: Path) -> list[Row]:
    """The rows of a pickle that holds lists, dicts, texts and numbers. One that names a class is refused."""
    with path.open("rb") as file:
        try:
            rows = _PlainUnpickler(file).load()
        except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise DataError(f"{path}: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: expected a list of rows")
    return rows


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only plain values are read")


def npz_rows(path: Path) -> Iterator[Row]:
    """The steps of an npz file, which are the first axis of all its arrays; pictures are read when they are needed."""
    arrays = _arrays(path)
    lengths = {len(array) for array in arrays.values() if array.ndim}
    if len(lengths) != 1:
        raise DataError(f"{path}: its arrays must have as many steps each, got {sorted(lengths)}")
    for step in range(lengths.pop()):
        yield {
            name: partial(_picture_of, path, name, step) if array.ndim > 3 else _plain(array[step])
            for name, array in arrays.items()
            if array.ndim
        }


@lru_cache(maxsize=2)
def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def _picture_of(path: Path, name: str, step: int) -> Any:
    return _arrays(path)[name][step]


def _plain(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value


def picture(source: Path | bytes) -> NDArray[np.uint8]:
    """A PNG or JPEG as an array of colours."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(source if isinstance(source, Path) else io.BytesIO(source)) as image:
            return np.asarray(image.convert("RGB"), np.uint8)
    except (UnidentifiedImageError, OSError, ValueError) as error:
        where = source if isinstance(source, Path) else "a row"
        raise DataError(f"the picture of {where} cannot be read: {error}") from None


def picture_in_text(text: str) -> NDArray[np.uint8]:
    """A picture that stands in a row as base64."""
    return picture(base64.b64decode(text))


def _object(text: str, where: str) -> Row:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: a row is an object, got a {type(row).__name__}")
    return row
