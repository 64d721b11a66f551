"""Observations and actions as plain memory: a skeleton that is sent when it changes, and arrays that are copied once.

A tree is a nested dict or list of numpy arrays, numbers, texts and None. Its skeleton is a nested tuple with one entry
per node; it holds everything but the numbers, so that consecutive observations of an episode share one skeleton and
only their bytes have to move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.episode import printable

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


class Layout:
    """A skeleton that was read and checked once: where each array of such a tree lies, counted from the first."""

    __slots__ = ("_has_arrays", "_reader", "_root", "_size")

    def __init__(self, skeleton: Sequence[Any]) -> None:
        self._root, self._size = _parsed(skeleton, 0, 0)
        self._has_arrays = self._size > 0 or _has_array(self._root)
        self._reader = _reader(self._root)

    @property
    def is_map(self) -> bool:
        return bool(self._root[0] == DICT)

    def end(self, offset: int = 0) -> int:
        """The offset behind such a tree when it starts at `offset`."""
        return aligned(offset) + self._size if self._has_arrays else offset

    def read(self, memory: Array, offset: int = 0) -> Any:
        """The tree in `memory` (bytes), as views without a copy."""
        self.check(memory, offset)
        return self._reader(memory, aligned(offset))

    def check(self, memory: Array, offset: int = 0) -> None:
        """That such a tree ends where the memory does, or before."""
        if self.end(offset) > memory.size:
            raise TreeError(f"a tree ends at byte {self.end(offset)} of a memory of {memory.size} bytes")

    def form(self, memory: Array, offset: int = 0) -> Form:
        return Form(_slots(self._root, memory[aligned(offset) :]))


class Form:
    """The places of a tree's arrays in memory: the next tree of the same form is copied straight there, or read there.

    It holds `views` views of that memory.
    """

    __slots__ = ("_slots", "views")

    def __init__(self, slots: Any) -> None:
        self._slots = slots
        self.views = _count(slots)

    def read(self) -> Any:
        """The tree that is there now, as new views."""
        return _look(self._slots)

    def fill(self, tree: Any) -> bool:
        """Copy a tree; False (and no more than a part of it copied) when it has another form."""
        return _fill(self._slots, tree)


def unflatten(skeleton: Sequence[Any], memory: Array, offset: int = 0) -> tuple[Any, int]:
    """The tree in `memory` (bytes) that `skeleton` describes, as views without a copy, and the offset behind it."""
    layout = Layout(skeleton)
    return layout.read(memory, offset), layout.end(offset)


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
    if type(value) is np.ndarray and value.dtype.kind in NUMBER_KINDS:
        return value.copy()
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
        return (TEXT, printable(str(tree)))  # a model may say half a surrogate pair, which no channel takes
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
                raise TreeError(f"{name} is a whole number that does not fit into 64 bits") from None
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


# A parsed node: (DICT, ((key, node), ...)), (LIST, (node, ...)), (TEXT, text), (NONE,), (kind, dtype, shape, offset).


def _parsed(skeleton: Sequence[Any], offset: int, depth: int) -> tuple[tuple[Any, ...], int]:
    """A skeleton with checked types and known offsets, and the offset behind its arrays."""
    kind = skeleton[0]
    if kind == ARRAY:
        return _placed(kind, np.dtype(skeleton[1]), tuple(skeleton[2]), offset)
    if kind in _NUMBERS:
        return _placed(kind, _NUMBERS[kind][0], (), offset)
    if kind == TEXT:
        return (TEXT, skeleton[1]), offset
    if kind == NONE:
        return (NONE,), offset
    if depth > MAX_DEPTH:
        raise TreeError(f"a skeleton is nested more than {MAX_DEPTH} levels deep")
    parts: list[Any] = []
    if kind == DICT:
        for key, part in skeleton[1:]:
            node, offset = _parsed(part, offset, depth + 1)
            parts.append((key, node))
    elif kind == LIST:
        for part in skeleton[1:]:
            node, offset = _parsed(part, offset, depth + 1)
            parts.append(node)
    else:
        raise TreeError(f"a skeleton has a node of unknown kind {kind!r}")
    return (kind, tuple(parts)), offset


def _placed(kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> tuple[tuple[Any, ...], int]:
    if dtype.kind not in NUMBER_KINDS or any(length < 0 for length in shape):
        raise TreeError(f"a skeleton has an array of {dtype} and shape {shape}")
    offset = aligned(offset)
    return (kind, dtype, shape, offset), offset + dtype.itemsize * math.prod(shape)


def _has_array(node: tuple[Any, ...]) -> bool:
    if node[0] == DICT:
        return any(_has_array(part) for _, part in node[1])
    return any(map(_has_array, node[1])) if node[0] == LIST else len(node) == 4


def _reader(node: tuple[Any, ...]) -> Callable[[Array, int], Any]:
    """What reads such a node of a tree that starts at some byte of a memory: every step of an episode does it."""
    kind = node[0]
    if kind == DICT:
        named = tuple((key, _reader(part)) for key, part in node[1])
        return lambda memory, start: {key: read(memory, start) for key, read in named}
    if kind == LIST:
        parts = tuple(map(_reader, node[1]))
        return lambda memory, start: [read(memory, start) for read in parts]
    if kind in (TEXT, NONE):
        text = node[1] if kind == TEXT else None
        return lambda memory, start: text
    _, dtype, shape, offset = node
    if kind == ARRAY:
        return lambda memory, start: np.ndarray(shape, dtype, memory, start + offset)
    return lambda memory, start: np.ndarray((), dtype, memory, start + offset).item()


def _slots(node: tuple[Any, ...], memory: Array) -> Any:
    """The tree with the places of its arrays; a number is a pair of its type and its place."""
    kind = node[0]
    if kind == DICT:
        return {key: _slots(part, memory) for key, part in node[1]}
    if kind == LIST:
        return [_slots(part, memory) for part in node[1]]
    if kind in (TEXT, NONE):
        return node[1] if kind == TEXT else None
    place = np.ndarray(node[2], node[1], memory, node[3])
    return place if kind == ARRAY else (_NUMBERS[kind][1], place)


def _count(slot: Any) -> int:
    if type(slot) is dict:
        return sum(map(_count, slot.values()))
    if type(slot) is list:
        return sum(map(_count, slot))
    return type(slot) in (np.ndarray, tuple)


def _look(slot: Any) -> Any:
    kind = type(slot)
    if kind is dict:
        return {key: part[...] if type(part) is np.ndarray else _look(part) for key, part in slot.items()}
    if kind is np.ndarray:
        return slot[...]
    if kind is list:
        return list(map(_look, slot))
    return slot[1].item() if kind is tuple else slot


def _fill(slot: Any, tree: Any) -> bool:
    kind = type(slot)
    if kind is np.ndarray:
        if type(tree) is not kind or tree.shape != slot.shape or tree.dtype != slot.dtype:
            return False
        slot[...] = tree
        return True
    if kind is dict:  # the order of keys is part of the form: a policy may go through them
        if type(tree) is not dict or len(tree) != len(slot):
            return False
        return all(key == name and _fill(slot[key], tree[name]) for key, name in zip(slot, tree, strict=True))
    if kind is list:
        return type(tree) in (list, tuple) and len(tree) == len(slot) and all(map(_fill, slot, tree))
    if kind is tuple:
        number, place = slot
        return type(tree) is number and _put_number(place, tree)
    return tree is None if slot is None else type(tree) is str and tree == slot


def _put_number(place: Array, number: float) -> bool:
    try:
        place[()] = number
    except OverflowError:
        return False
    return True
