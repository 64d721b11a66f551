"""Rates of a run that still goes on, per partition: a contiguous prefix in episode order, so that none is too good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_vla.report.live import PrefixRate
from pytest_vla.run import Record, Tally

Group = tuple[str, str]

MOST_LINES = 12
CLEAR_BELOW = "\x1b[J"


class RunningRates:
    """One running rate per suite and partition, perturbed episodes apart, in order of first appearance."""

    def __init__(self, first_episode: int = 0, records: Iterable[Record] = ()) -> None:
        self._first = first_episode
        self._rates: dict[Group, PrefixRate] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        key = record.key
        name = f"{key.partition}{', perturbed' if key.perturbation else ''}"
        self._rates.setdefault((key.suite, name), PrefixRate()).add(record, self._first)

    def rows(self) -> list[tuple[str, str, int, int]]:
        """Suite, partition, solved and measured."""
        return [(suite, name, rate.solved, rate.measured) for (suite, name), rate in self._rates.items()]

    def total(self) -> tuple[int, int]:
        """Solved and measured."""
        return sum(rate.solved for rate in self._rates.values()), sum(rate.measured for rate in self._rates.values())

    def lines(self, width: int) -> list[str]:
        """One line per partition: `vima placement_generalization  73.1% [54, 87] 19 of 26`."""
        rows = self.rows()
        longest = max((len(f"{suite} {name}") for suite, name, *_ in rows), default=0)
        longest = min(longest, max(12, width - 36))
        lines = [
            f"  {_cut(f'{suite} {name}', longest):<{longest}}  {describe(solved, measured)}"
            for suite, name, solved, measured in rows[:MOST_LINES]
        ]
        return lines + [f"  and {len(rows) - MOST_LINES} more"] * (len(rows) > MOST_LINES)


def describe(solved: int, measured: int) -> str:
    """A rate with its interval and its counts, never alone."""
    if not measured:
        return "-"
    rate, bounds, _, _ = Tally(solved, measured).texts()
    return f"{rate:>6} {bounds:>9}  {solved} of {measured}"


class Block:
    """Several lines at the bottom of a terminal, written over and over.

    The cursor waits at the start of the block: whatever else is printed goes there, and the block is drawn below it.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def show(self, lines: list[str]) -> None:
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        self._write("\r" + CLEAR_BELOW + "\n".join(lines) + "\r" + up)

    def clear(self) -> None:
        self._write("\r" + CLEAR_BELOW)

    def _write(self, text: str) -> None:
        self._writer.write(text, flush=True)


def inference_line(statistics: dict[str, Any]) -> str | None:
    """What the servers do just now, in one line."""
    from pytest_vla.inference.status import describe as describe_servers

    return f"  inference: {describe_servers(statistics)}" if statistics.get("requests") else None


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
