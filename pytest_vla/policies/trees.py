"""Observations between a client and a server of ours, in place of vla-eval's: the memory of their arrays as it is.

A message is a head, what changed since the last one as JSON, and the arrays. While nothing changes, writing it is one
copy, and reading it makes views. Its first byte begins no msgpack, so a server knows it by that.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_vla.observed import Hearing, Telling
from pytest_vla.policies.wire import Limits, TooLarge, WireError
from pytest_vla.tree import Array, Form, Layout, TreeError, size_of, write

READS_TREES = "pytest_vla_trees"  # in a greeting of a server: it takes such messages
MARK = 0xC1  # "never used", says msgpack
LARGEST_NEWS, BRIEF_NEWS = 1 << 18, 1 << 14  # bytes of JSON: at most, and in a message that is read in a moment
MOST_PARTS = 1 << 12  # opening brackets in it: a part has one to three
_HEAD = struct.Struct("<BxxxIQ")  # mark, number, bytes of JSON


class TooMuchNews(TreeError):
    """An observation has more parts, or longer texts, than such a message may tell."""


class TreeWriter:
    """Writes the observations of one connection, one after the other, to the same memory."""

    def __init__(self) -> None:
        self._telling = Telling()
        self._memory: Array = np.zeros(1 << 12, np.uint8)
        self._form: Form | None = None
        self._size = 0

    def begin(self) -> None:
        """An episode begins."""
        self._telling.begin()

    def packed(self, observation: Mapping[str, Any], number: int) -> memoryview:
        """The message; it is that of the next observation after the next call. Raises TreeError.

        After TooMuchNews the other side knows nothing of that observation, and it can be sent another way.
        """
        rest, prompt = self._telling.split(observation)
        if prompt is None and self._form is not None and self._form.fill(rest):
            _HEAD.pack_into(self._memory.data, 0, MARK, number, 0)
            return self._memory.data[: self._size]
        news, arrays, skeleton = self._telling.news(rest, prompt)
        text = json.dumps(news, separators=(",", ":")).encode() if news else b""
        if is_too_much(text):
            self._telling, self._form = Telling(), None
            raise TooMuchNews("an observation has too many parts, or too long texts, to be sent as it is")
        start = _HEAD.size + len(text)
        self._size = size_of(arrays, start)
        if self._size > self._memory.size:
            self._memory = np.zeros(2 * self._size, np.uint8)
        _HEAD.pack_into(self._memory.data, 0, MARK, number, len(text))
        self._memory[_HEAD.size : start] = np.frombuffer(text, np.uint8)
        write(arrays, self._memory, start)
        self._form = None if news else Layout(skeleton).form(self._memory, start)
        return self._memory.data[: self._size]


class TreeReader:
    """Reads them. `is_new` says that the form of the last one, or its prompt, was not that of the one before."""

    def __init__(self) -> None:
        self._hearing = Hearing()
        self._weight = 0  # bytes of JSON that the form of observations took
        self.is_new = True

    def begin(self) -> None:
        self._hearing.begin()

    def read(self, data: bytes | memoryview, limits: Limits) -> tuple[dict[str, Any], int]:
        """The observation, whose arrays are views of the data, and its number; raises WireError for anything else."""
        if len(data) > limits.bytes:
            raise TooLarge(f"{len(data)} bytes are too much for an observation")
        try:
            _, number, size = _HEAD.unpack_from(data)
            if max(size, self._weight) > (BRIEF_NEWS if limits.brief else LARGEST_NEWS):
                raise TooLarge(f"{size} bytes about an observation are too much")
            start = _HEAD.size + size
            text = bytes(data[_HEAD.size : start])
            if is_too_much(text):
                raise TooLarge(f"an observation of {len(text)} bytes without its arrays has too many parts")
            news = json.loads(text) if size else {}
            memory = np.frombuffer(data, np.uint8)
            observation = self._hearing.observation(news, memory, start)
        except WireError:
            raise
        except Exception as error:  # whatever a hostile message can make the readers raise
            raise WireError(f"an observation cannot be read: {type(error).__name__}: {error}") from None
        self.is_new = bool(news)
        self._weight = size if "tree" in news else self._weight
        return observation, number


def is_too_much(news: bytes) -> bool:
    return len(news) > LARGEST_NEWS or news.count(b"[") > MOST_PARTS


def is_tree(data: bytes | memoryview) -> bool:
    return len(data) > 0 and data[0] == MARK
