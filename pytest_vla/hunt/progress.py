"""How far a hunt is, said every now and then."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import pytest

from pytest_vla.messages import Said, send

if TYPE_CHECKING:
    from pytest_vla.hunt.items import HuntKey

PERIOD_S = 15.0


class Progress:
    """Counts the answers of one hunt."""

    def __init__(self, item: pytest.Item, key: HuntKey) -> None:
        self.item, self.key = item, key
        self.answers = self.failures = 0
        self._said_at = monotonic()

    def add(self, answers: int, failures: int) -> None:
        self.answers += answers
        self.failures += failures
        if monotonic() - self._said_at >= PERIOD_S:
            self._said_at = monotonic()
            send(self.item, Said(self.line()))

    def line(self) -> str:
        return f"hunting in {self.key.where}: {self.answers} of {self.key.budget} episodes, {self.failures} failed"
