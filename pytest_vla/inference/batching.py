"""When a batch is closed: as soon as nothing can be gained by waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 0.1  # of what a call costs beyond its rows: the first in line may lose so much that others can come along
MAX_WAIT_S = 0.05
MILLISECONDS = 3  # decimals: selectors count in them, and round what is less up to one
MEMORY = 0.95  # of what was measured, from one batch to the next
TOLD_APART = 1.0  # sum of squares of batch sizes about their mean, from which on a line through their times is known


class Batcher(Generic[T]):
    """Requests in order of arrival, and the decision when the next ones go.

    A batch closes when it is full, when every live client is waiting (no one else can come), or when the oldest
    request has waited for a tenth of what company would save: the part of a batch's time that does not grow with its
    rows. What arrives during a batch is served right after it, so the model never rests while somebody waits longer
    than that. Where rows cost what they cost, it hardly rests at all: some clients work while others are served.

    `live` is the number of clients in an episode; `limit` is the largest batch.
    """

    def __init__(self, limit: int, patience: float = PATIENCE) -> None:
        self.limit = limit
        self.patience = patience
        self._waiting: deque[tuple[float, Hashable, T]] = deque()
        self._times = CallTimes()
        self._longest = 0.0  # seconds that the first in line waits

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, client: Hashable, request: T, now: float) -> None:
        self._waiting.append((now, client, request))

    def drop(self, client: Hashable) -> None:
        """Forget what a client that is gone had asked."""
        self._waiting = deque(entry for entry in self._waiting if entry[1] is not client)

    def wait(self, live: int, now: float) -> float | None:
        """Seconds until a batch is due, 0 when one is, None when nobody waits."""
        if not self._waiting:
            return None
        if len(self._waiting) >= min(self.limit, live):
            return 0.0
        return max(self._waiting[0][0] + self._longest - now, 0.0)

    def take(self) -> list[T]:
        """The next batch."""
        return [self._waiting.popleft()[2] for _ in range(min(self.limit, len(self._waiting)))]

    def took(self, rows: int, seconds: float) -> None:
        """How long the last batch computed: patience follows it."""
        self._times.add(rows, seconds)
        self._longest = round(min(self.patience * self._times.fixed(), MAX_WAIT_S), MILLISECONDS)


class CallTimes:
    """A line through the compute times of recent batches of different sizes."""

    def __init__(self) -> None:
        self._weight = self._rows = self._seconds = 0.0
        self._rows_spread = self._both_spread = 0.0
        self._a_row = 0.0  # seconds that one more takes, as far as is known

    def add(self, rows: int, seconds: float) -> None:
        """Weighted means and spreads, each batch a little lighter than the next."""
        self._weight = MEMORY * self._weight + 1.0
        off = rows - self._rows
        self._rows += off / self._weight
        self._seconds += (seconds - self._seconds) / self._weight
        self._rows_spread = MEMORY * self._rows_spread + off * (rows - self._rows)
        self._both_spread = MEMORY * self._both_spread + off * (seconds - self._seconds)
        if self._rows_spread >= TOLD_APART:
            self._a_row = max(self._both_spread / self._rows_spread, 0.0)

    def fixed(self) -> float:
        """The seconds a batch takes whatever its size; all of them until sizes could be compared."""
        return max(self._seconds - self._a_row * self._rows, 0.0)
