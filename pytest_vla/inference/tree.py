"""Observations and actions as plain memory: a skeleton that is sent when it changes, and arrays that are copied once.

A tree is a nested dict or list of numpy arrays, numbers, texts and None. Its skeleton is a nested tuple with one entry
per node; it holds everything but the numbers, so that consecutive observations of an episode share one skeleton and
only their bytes have to move.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGN = 64  # bytes: every array starts on a cache line
MAX_DEPTH = 32
NUMBER_KINDS = "biufc"

Array = NDArray[Any]
Skeleton = tuple[Any, ...]
# The first entry of a skeleton node. Python numbers travel as arrays of one element.
DICT, LIST, ARRAY, TEXT, NONE, BOOL, INT, FLOAT = "d", "l", "a", "t", "n", "b", "i", "f"
_NUMBERS: dict[str, tuple[np.dtype[Any], type]] = {
    BOOL: (np.dtype("?"), bool),
    INT: (np.dtype("<i8"), int),
    FLOAT: (np.dtype("<f8"), float),
}


class TreeError(Exception):
    """A value cannot be sent, or what was received is not a tree."""


def flatten(tree: Any, name: str = "observation") -> tuple[Skeleton, list[Array]]:
    """The skeleton of a tree and its arrays in skeleton order; raises TreeError naming what cannot be sent."""
    arrays: list[Array] = []
    return _flatten(tree, arrays, name, 0), arrays


def unflatten(skeleton: Sequence[Any], memory: Array, offset: int = 0) -> tuple[Any, int]:
    """The tree in `memory` (bytes) that `skeleton` describes, as views without a copy, and the offset behind it."""
    return _unflatten(skeleton, memory, offset, 0)


def size_of(arrays: Sequence[Array], offset: int = 0) -> int:
    """The offset behind these arrays when they start at `offset`."""
    for array in arrays:
        offset = aligned(offset) + array.nbytes
    return offset


def write(arrays: Sequence[Array], memory: Array, offset: int = 0) -> int:
    """Copy arrays into `memory` (bytes) and return the offset behind them."""
    for array in arrays:
        offset = aligned(offset)
        end = offset + array.nbytes
        memory[offset:end].view(array.dtype).reshape(array.shape)[...] = array
        offset = end
    return offset


def copied(tree: Any) -> Any:
    """The same tree with arrays of its own."""
    if isinstance(tree, dict):
        return {key: copied(item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [copied(item) for item in tree]
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def plain(value: Any) -> Any:
    """What a value looks like after it was sent: dicts, lists, arrays, numbers and texts."""
    skeleton, arrays = flatten(value)
    memory = np.zeros(size_of(arrays), np.uint8)
    write(arrays, memory)
    return unflatten(skeleton, memory)[0]


def signature(skeleton: Sequence[Any]) -> Skeleton:
    """The skeleton without its texts: observations with equal signatures can be stacked."""
    if skeleton[0] == TEXT:
        return (TEXT,)
    if skeleton[0] == DICT:
        return (DICT, *((key, signature(part)) for key, part in skeleton[1:]))
    if skeleton[0] == LIST:
        return (LIST, *map(signature, skeleton[1:]))
    return tuple(tuple(part) if isinstance(part, list) else part for part in skeleton)


def aligned(offset: int) -> int:
    return -(-offset // ALIGN) * ALIGN


def _flatten(tree: Any, arrays: list[Array], name: str, depth: int) -> Skeleton:
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind not in NUMBER_KINDS:
            raise TreeError(f"{name} is an array of {tree.dtype}; only numbers can be sent")
        arrays.append(tree)
        return (ARRAY, tree.dtype.str, tree.shape)
    if isinstance(tree, str):
        return (TEXT, str(tree))
    if depth > MAX_DEPTH:
        raise TreeError(f"{name} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(tree, Mapping):
        return (DICT, *((_key(key, name), _flatten(tree[key], arrays, f"{name}[{key!r}]", depth + 1)) for key in tree))
    if isinstance(tree, (list, tuple)):
        return (LIST, *(_flatten(item, arrays, f"{name}[{i}]", depth + 1) for i, item in enumerate(tree)))
    if tree is None:
        return (NONE,)
    return _flatten_object(tree, arrays, name, depth)


def _flatten_object(tree: Any, arrays: list[Array], name: str, depth: int) -> Skeleton:
    for kind, (dtype, number) in _NUMBERS.items():
        if type(tree) is number:
            try:
                arrays.append(np.array(tree, dtype))
            except OverflowError:
                raise TreeError(f"{name} is {tree}, which does not fit into 64 bits") from None
            return (kind,)
    if hasattr(tree, "to_tree"):
        return _flatten(tree.to_tree(), arrays, name, depth + 1)
    if hasattr(tree, "detach"):  # a torch tensor, wherever it lives
        tree = tree.detach().cpu().numpy()
    elif not hasattr(tree, "__array__"):
        raise TreeError(f"{name} is a {type(tree).__name__}; only arrays, numbers and texts can be sent")
    return _flatten(np.asarray(tree), arrays, name, depth)


def _key(key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise TreeError(f"{name} has the key {key!r}; keys must be texts")
    return key


def _unflatten(skeleton: Sequence[Any], memory: Array, offset: int, depth: int) -> tuple[Any, int]:
    kind = skeleton[0]
    if kind == ARRAY:
        return _view(np.dtype(skeleton[1]), tuple(skeleton[2]), memory, offset)
    if kind == TEXT:
        return skeleton[1], offset
    if depth > MAX_DEPTH:
        raise TreeError(f"a skeleton is nested more than {MAX_DEPTH} levels deep")
    if kind == DICT:
        items = {}
        for key, part in skeleton[1:]:
            items[key], offset = _unflatten(part, memory, offset, depth + 1)
        return items, offset
    if kind == LIST:
        values = []
        for part in skeleton[1:]:
            value, offset = _unflatten(part, memory, offset, depth + 1)
            values.append(value)
        return values, offset
    if kind == NONE:
        return None, offset
    if kind in _NUMBERS:
        view, offset = _view(_NUMBERS[kind][0], (), memory, offset)
        return view.item(), offset
    raise TreeError(f"a skeleton has a node of unknown kind {kind!r}")


def _view(dtype: np.dtype[Any], shape: tuple[int, ...], memory: Array, offset: int) -> tuple[Array, int]:
    if dtype.kind not in NUMBER_KINDS or any(length < 0 for length in shape):
        raise TreeError(f"a skeleton has an array of {dtype} and shape {shape}")
    offset = aligned(offset)
    end = offset + dtype.itemsize * math.prod(shape)
    if end > memory.size:
        raise TreeError(f"an array ends at byte {end} of a memory of {memory.size} bytes")
    return memory[offset:end].view(dtype).reshape(shape), end
