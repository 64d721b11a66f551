"""Following a run from another terminal: only what was added to its file since is read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from pytest_vla.report.live import clock
from pytest_vla.report.runfile import Key, Record, RunFileError, key_of, run_path
from pytest_vla.report.running import RunningRates, describe

if TYPE_CHECKING:
    from rich.console import Group

PERIOD_S = 0.5
RECENT_S = 60.0


class Tail:
    """A run file that grows: each `read` gives the lines that are complete since the last one."""

    def __init__(self, run: Path) -> None:
        self.path = run_path(run)
        self._rest = b""
        self._place = 0
        self.damaged = 0

    def read(self) -> list[Record]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._place)
                content = file.read()
        except OSError as error:
            raise RunFileError(f"cannot read the run file '{self.path}': {error.strerror or error}") from error
        self._place += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [record for record in map(self._parse, filter(None, lines)) if record is not None]

    def _parse(self, line: bytes) -> Record | None:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and "type" in record:
            return record
        self.damaged += 1
        return None


class Progress:
    """What is known of a run so far."""

    def __init__(self) -> None:
        self.provenance: Record = {}
        self.plan: int | None = None
        self.ended = False
        self.episodes: dict[Key, Record] = {}
        self.rates = RunningRates()
        self.inference: Record | None = None
        self._arrivals: list[tuple[float, int]] = []

    def add(self, records: list[Record], now: float) -> None:
        for record in records:
            kind = record["type"]
            if kind == "run" and not self.provenance:
                self.provenance = record
                self.rates = RunningRates(int((record.get("options") or {}).get("first_episode") or 0))
            elif kind == "plan":
                self.plan = int(record["episodes"])
            elif kind == "episode":
                self.ended = False
                self.episodes[key_of(record)] = record
                self.rates.add(record)
            elif kind == "inference":
                self.inference = record
            elif kind == "end":
                self.ended = True
        self._arrivals = [(at, done) for at, done in self._arrivals if now - at <= RECENT_S] + [(now, self.finished)]

    @property
    def finished(self) -> int:
        return len(self.episodes)

    def speed(self) -> float | None:
        """Episodes per second over the last minute; None until two were seen to end."""
        (first, before), (last, after) = self._arrivals[0], self._arrivals[-1]
        return (after - before) / (last - first) if last > first and after > before else None

    def headline(self) -> str:
        parts = [f"{self.finished} of {self.plan if self.plan is not None else '?'} episodes"]
        errors = sum(record["outcome"] == "error" for record in self.episodes.values())
        if errors:
            parts.append(f"{errors} errors")
        speed = self.speed()
        if speed:
            parts.append(f"{speed:.2f} episodes/s")
            if self.plan is not None and self.plan > self.finished:
                parts.append(f"ETA {clock((self.plan - self.finished) / speed)}")
        parts.append("ended" if self.ended else "going on")
        return " · ".join(parts)


def watch(run: Path, once: bool = False) -> int:
    """Show a run until it ends; Ctrl-C leaves it alone."""
    from rich.console import Console
    from rich.live import Live

    tail, progress, console = Tail(run), Progress(), Console()
    progress.add(tail.read(), monotonic())
    if once or progress.ended or not console.is_terminal:
        console.print(_picture(progress, tail))
        return 0
    try:
        with Live(_picture(progress, tail), console=console, auto_refresh=False) as live:
            while not progress.ended:
                sleep(PERIOD_S)
                progress.add(tail.read(), monotonic())
                live.update(_picture(progress, tail), refresh=True)
    except KeyboardInterrupt:
        pass
    return 0


def _picture(progress: Progress, tail: Tail) -> Group:
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    policy = (progress.provenance.get("policy") or {}).get("text", "?")
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("suite", "partition", "success so far, in order"):
        table.add_column(title, no_wrap=True)
    for suite, name, solved, measured in progress.rates.rows():
        table.add_row(suite, name, describe(solved, measured))
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total=progress.plan or max(progress.finished, 1), completed=progress.finished, width=30),
        Text(progress.headline()),
    )
    parts: list[Any] = [Text(f"policy {policy} · {tail.path}"), bar, table]
    counts = Counter(f"{r['outcome']}: {r['reason']}" for r in progress.episodes.values() if r["reason"])
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common(6))
    if reasons:
        parts.append(Text(reasons))
    if progress.inference is not None:
        from pytest_vla.inference.session import describe as describe_servers

        parts += [Text(line) for line in describe_servers(progress.inference)]
    if tail.damaged:
        parts.append(Text(f"{tail.damaged} lines cannot be read and are left out"))
    return Group(*parts)
