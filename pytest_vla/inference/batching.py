"""When a batch is closed: as soon as nothing can be gained by waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 0.1  # of a batch's compute time: what the first in line may lose so that others can come along
MAX_WAIT_S = 0.05
SMOOTHING = 0.2


class Batcher(Generic[T]):
    """Requests in order of arrival, and the decision when the next ones go.

    A batch closes when it is full, when every live client is waiting (no one else can come), or when the oldest
    request has waited for a tenth of the time a batch takes. What arrives during a batch is served right after it, so
    the model never rests while somebody waits longer than that.

    `live` is the number of clients in an episode; `limit` is the largest batch.
    """

    def __init__(self, limit: int, patience: float = PATIENCE) -> None:
        self.limit = limit
        self.patience = patience
        self._waiting: deque[tuple[float, Hashable, T]] = deque()
        self._compute = 0.0

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
        patience = min(self.patience * self._compute, MAX_WAIT_S)
        return max(self._waiting[0][0] + patience - now, 0.0)

    def take(self) -> list[T]:
        """The next batch."""
        return [self._waiting.popleft()[2] for _ in range(min(self.limit, len(self._waiting)))]

    def took(self, seconds: float) -> None:
        """How long the last batch computed: patience follows it."""
        self._compute += (seconds - self._compute) * (SMOOTHING if self._compute else 1.0)
