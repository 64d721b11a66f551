"""What the server is doing, on a page of memory the controller reads: it outlives the server, however that ends."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log2
from typing import Any

from pytest_vla.inference.memory import Arena

LARGEST_BATCH = 256
UNSEEDED = "another run gives others; --vla-deterministic seeds them by episode and step"
_SUMS = struct.Struct("<dQQQddQQ")
_COUNT = struct.Struct("<Q")
_HISTOGRAM = struct.Struct(f"<{LARGEST_BATCH + 1}Q")
SHORTEST_S, AN_OCTAVE, OCTAVES = 1e-5, 16, 27  # times of calls are counted by size: 16 sizes while one doubles
_BUCKETS = AN_OCTAVE * OCTAVES
_TIMES = struct.Struct(f"<{2 * _BUCKETS}Q")  # of calls with one row, then of others


@dataclass(slots=True)
class Statistics:
    """Sums over the requests a server answered. Seconds of `queue` are per request, of `compute` per batch."""

    busy_since: float = 0.0  # on the shared clock; 0 while the model rests
    requests: int = 0
    batches: int = 0
    failures: int = 0
    queue: float = 0.0
    compute: float = 0.0
    row_by_row: int = 0  # requests whose row had to be a call of its own to give the same bits at any `-n`
    unseeded: int = 0  # requests whose random draws depended on who else was in their call
    histogram: list[int] = field(default_factory=lambda: [0] * (LARGEST_BATCH + 1))
    times: list[int] = field(default_factory=lambda: [0] * (2 * _BUCKETS))
    last_time: int = 0  # where the last batch was counted

    def batch(self, size: int, failures: int, queue: float, compute: float, row_by_row: int, unseeded: int = 0) -> None:
        self.requests += size
        self.batches += 1
        self.failures += failures
        self.queue += queue
        self.compute += compute
        self.row_by_row += row_by_row
        self.unseeded += unseeded
        self.histogram[min(size, LARGEST_BATCH)] += 1
        self.last_time = _bucket(compute) + (0 if size == 1 else _BUCKETS)
        self.times[self.last_time] += 1

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            max(self.busy_since, other.busy_since),
            self.requests + other.requests,
            self.batches + other.batches,
            self.failures + other.failures,
            self.queue + other.queue,
            self.compute + other.compute,
            self.row_by_row + other.row_by_row,
            self.unseeded + other.unseeded,
            [a + b for a, b in zip(self.histogram, other.histogram, strict=True)],
            [a + b for a, b in zip(self.times, other.times, strict=True)],
        )

    def calls(self) -> dict[str, dict[str, float]]:
        """How long calls took, those of one row (`1`) and of more (`batch`): count, median and 95th percentile."""
        found: dict[str, dict[str, float]] = {}
        larger = sum(count for size, count in enumerate(self.histogram) if size > 1)
        rows = sum(size * count for size, count in enumerate(self.histogram) if size > 1)
        for name, times in (("1", self.times[:_BUCKETS]), ("batch", self.times[_BUCKETS:])):
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
        record = {
            "requests": self.requests,
            "batches": self.batches,
            "failures": self.failures,
            "queue_ms": round(1e3 * self.queue / max(self.requests, 1), 3),
            "compute_ms": round(1e3 * self.compute / max(self.batches, 1), 3),
            "batch_sizes": {str(size): count for size, count in enumerate(self.histogram) if count},
        }
        rare = {"row_by_row": self.row_by_row, "unseeded": self.unseeded}
        return {**record, **{name: count for name, count in rare.items() if count}}


class StatusPage:
    """The statistics of one server in shared memory; the server writes, the controller reads."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    @classmethod
    def create(cls) -> StatusPage:
        return cls(Arena.create(_SUMS.size + _HISTOGRAM.size + _TIMES.size))

    def read(self) -> Statistics:
        busy, requests, batches, failures, queue, compute, apart, unseeded = _SUMS.unpack_from(self.arena.buffer)
        histogram = list(_HISTOGRAM.unpack_from(self.arena.buffer, _SUMS.size))
        times = list(_TIMES.unpack_from(self.arena.buffer, _SUMS.size + _HISTOGRAM.size))
        return Statistics(busy, requests, batches, failures, queue, compute, apart, unseeded, histogram, times)

    def write(self, s: Statistics, size: int) -> None:
        """All sums, and of the histogram what a batch of this size changed."""
        sums = (s.busy_since, s.requests, s.batches, s.failures, s.queue, s.compute, s.row_by_row, s.unseeded)
        _SUMS.pack_into(self.arena.buffer, 0, *sums)
        size = min(size, LARGEST_BATCH)
        _COUNT.pack_into(self.arena.buffer, _SUMS.size + size * _COUNT.size, s.histogram[size])
        place = _SUMS.size + _HISTOGRAM.size + s.last_time * _COUNT.size
        _COUNT.pack_into(self.arena.buffer, place, s.times[s.last_time])

    def busy(self, since: float) -> None:
        """Only the mark that a call began (or, with 0, that it ended)."""
        struct.pack_into("<d", self.arena.buffer, 0, since)


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
        parts.append(f"{record['unseeded']} drew random numbers in company: {UNSEEDED}")
    if record.get("restarts"):
        parts.append(f"{record['restarts']} restarts")
    return ", ".join(parts)
