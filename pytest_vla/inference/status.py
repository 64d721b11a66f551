"""What the server is doing, on a page of memory the controller reads: it outlives the server, however that ends."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from pytest_vla.inference.memory import Arena

LARGEST_BATCH = 256
ANOTHER = "another run gives others; --vla-deterministic seeds them by episode and step"
SHORTEST_S, AN_OCTAVE, OCTAVES = 1e-5, 16, 27  # times of calls are counted by size: 16 sizes while one doubles
_BUCKETS = AN_OCTAVE * OCTAVES
_BUSY, _REQUESTS, _BATCHES, _FAILURES, _QUEUE, _COMPUTE, _ROW_BY_ROW, _UNSEEDED, _SIZES = range(9)
_TIMES = _SIZES + LARGEST_BATCH + 1  # of calls with one row, then of others
_COUNT = _TIMES + 2 * _BUCKETS
NUMBER_BYTES = 8


class Statistics:
    """Sums over the requests a server answered: a row of numbers, which may lie in memory that somebody else reads."""

    def __init__(self, numbers: list[float] | memoryview[float] | None = None) -> None:
        self.numbers: list[float] | memoryview[float] = [0.0] * _COUNT if numbers is None else numbers

    def batch(self, size: int, failures: int, queue: float, compute: float, row_by_row: int, unseeded: int = 0) -> None:
        """Seconds of `queue` are those of all requests, of `compute` those of the batch."""
        numbers = self.numbers
        numbers[_REQUESTS] += size
        numbers[_BATCHES] += 1
        numbers[_FAILURES] += failures
        numbers[_QUEUE] += queue
        numbers[_COMPUTE] += compute
        numbers[_ROW_BY_ROW] += row_by_row
        numbers[_UNSEEDED] += unseeded
        numbers[_SIZES + min(size, LARGEST_BATCH)] += 1
        numbers[_TIMES + _bucket(compute) + (0 if size == 1 else _BUCKETS)] += 1

    def __add__(self, other: Statistics) -> Statistics:
        sums = [a + b for a, b in zip(self.numbers, other.numbers, strict=True)]
        sums[_BUSY] = max(self.busy_since, other.busy_since)
        return Statistics(sums)

    @property
    def busy_since(self) -> float:
        """On the shared clock; 0 while the model rests."""
        return self.numbers[_BUSY]

    @busy_since.setter
    def busy_since(self, seconds: float) -> None:
        self.numbers[_BUSY] = seconds

    @property
    def requests(self) -> int:
        return int(self.numbers[_REQUESTS])

    @property
    def compute(self) -> float:
        return self.numbers[_COMPUTE]

    @property
    def histogram(self) -> list[int]:
        """How many batches had so many rows."""
        return list(map(int, self.numbers[_SIZES:_TIMES]))

    def calls(self) -> dict[str, dict[str, float]]:
        """How long calls took, those of one row (`1`) and of more (`batch`): count, median and 95th percentile."""
        found: dict[str, dict[str, float]] = {}
        larger = sum(count for size, count in enumerate(self.histogram) if size > 1)
        rows = sum(size * count for size, count in enumerate(self.histogram) if size > 1)
        several = _TIMES + _BUCKETS
        for name, counts in (("1", self.numbers[_TIMES:several]), ("batch", self.numbers[several:])):
            times = list(map(int, counts))
            if sum(times):
                found[name] = {
                    "count": sum(times),
                    "rows": 1.0 if name == "1" else round(rows / max(larger, 1), 2),
                    "p50_ms": round(1e3 * _percentile(times, 0.5), 3),
                    "p95_ms": round(1e3 * _percentile(times, 0.95), 3),
                }
        return found

    def to_record(self) -> dict[str, Any]:
        """For the run file: means in milliseconds and the batch sizes that occurred."""
        numbers, requests, batches = self.numbers, self.requests, int(self.numbers[_BATCHES])
        record = {
            "requests": requests,
            "batches": batches,
            "failures": int(numbers[_FAILURES]),
            "queue_ms": round(1e3 * numbers[_QUEUE] / max(requests, 1), 3),
            "compute_ms": round(1e3 * numbers[_COMPUTE] / max(batches, 1), 3),
            "batch_sizes": {str(size): count for size, count in enumerate(self.histogram) if count},
        }
        # Requests whose row had to be a call of its own to give the same bits at any `-n`, and those whose random draws
        # depended on who else was in their call.
        rare = {"row_by_row": int(numbers[_ROW_BY_ROW]), "unseeded": int(numbers[_UNSEEDED])}
        return {**record, **{name: count for name, count in rare.items() if count}}


class StatusPage:
    """The statistics of one server in shared memory; the server counts there, the controller reads."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.live = Statistics(memoryview(arena.buffer)[: _COUNT * NUMBER_BYTES].cast("d"))

    @classmethod
    def create(cls) -> StatusPage:
        return cls(Arena.create(_COUNT * NUMBER_BYTES))

    def read(self) -> Statistics:
        return Statistics(list(self.live.numbers))


def _bucket(seconds: float) -> int:
    """Where a time is counted."""
    return min(max(int(AN_OCTAVE * log2(max(seconds, SHORTEST_S) / SHORTEST_S)), 0), _BUCKETS - 1)


def _percentile(times: list[int], share: float) -> float:
    """The middle of the bucket in which that share of the calls is reached."""
    wanted, seen = share * sum(times), 0
    for bucket, count in enumerate(times):
        seen += count
        if seen >= wanted and count:
            return float(SHORTEST_S * 2 ** ((bucket + 0.5) / AN_OCTAVE))
    return 0.0


def describe(record: Mapping[str, Any]) -> str:
    """The statistics in one line for the terminal."""
    sizes = record["batch_sizes"]
    mean = record["requests"] / max(record["batches"], 1)
    usual = ", ".join(
        f"{size} ({100 * count / max(record['batches'], 1):.0f}%)"
        for size, count in sorted(sizes.items(), key=lambda item: -item[1])[:3]
    )
    parts = [
        f"{record['requests']} requests in {record['batches']} batches of {mean:.1f} (most often {usual})",
        f"queue {record['queue_ms']:.2f} ms",
        f"compute {record['compute_ms']:.2f} ms a batch",
    ]
    if "transport_ms" in record:
        parts.append(f"transport {record['transport_ms']:.2f} ms")
    if record.get("row_by_row"):
        parts.append(f"{record['row_by_row']} requests row by row, because rows of this model depend on each other")
    if record.get("unseeded"):
        parts.append(f"{record['unseeded']} drew random numbers in company: {ANOTHER}")
    if record.get("restarts"):
        parts.append(f"{record['restarts']} restarts")
    return ", ".join(parts)
