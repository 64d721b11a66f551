"""Following a run from another terminal: only what was added to its file since is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.report.live import clock
from pytest_vla.report.running import RunningRates, describe
from pytest_vla.run import Identity, Plan, Record, RunFileError, run_path
from pytest_vla.run.file import parse_line
from pytest_vla.run.lock import is_held

if TYPE_CHECKING:
    from rich.console import Group

PERIOD_S = 0.5
RECENT_S = 60.0
STOPPED = "stopped before its end: --vla-resume goes on"

Line = dict[str, Any]


class Tail:
    """A run file that grows: each `read` gives the lines that are complete since the last one."""

    def __init__(self, run: Path) -> None:
        self.path = run_path(run)
        self._place = 0
        self.damaged = 0

    def read(self) -> Iterator[Line]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._place)
                for text in file:
                    if not text.endswith(b"\n"):
                        return  # still being written
                    self._place += len(text)
                    line = self._parse(text)
                    if line is not None:
                        yield line
        except OSError as error:
            raise RunFileError(f"cannot read the run file '{self.path}': {error.strerror or error}") from error

    def _parse(self, text: bytes) -> Line | None:
        if not text.strip():
            return None
        try:
            line = parse_line(text)
            if isinstance(line, dict) and "type" in line:
                return line
        except (ValueError, RecursionError):
            pass
        self.damaged += 1
        return None


class Progress:
    """What is known of a run so far."""

    def __init__(self) -> None:
        self.policy = "?"
        self.plan = Plan()
        self.ended = False
        self.unread = 0
        self.endings: dict[EpisodeKey, tuple[str, str | None]] = {}
        """Outcome and reason of every episode that ended."""
        self.rates = RunningRates()
        self.inference: Line | None = None
        self.is_written = True
        """Whether some process is at it: a run that was killed has no end in its file."""
        self._arrivals: list[tuple[float, int]] = []

    def add(self, lines: Iterable[Line], now: float, is_written: bool = True) -> None:
        if is_written and not self.is_written:
            self._arrivals = []  # it was resumed: nobody worked during the pause
        self.is_written = is_written
        for line in lines:
            try:
                self._take(line["type"], line)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                self.unread += 1
        self._arrivals = [(at, done) for at, done in self._arrivals if now - at <= RECENT_S] + [(now, self.finished)]

    def _take(self, kind: str, line: Line) -> None:
        if kind == "run" and self.policy == "?":
            self.policy = Identity.from_provenance(line).text
            self.rates = RunningRates(int((line.get("options") or {}).get("first_episode") or 0))
        elif kind == "plan":
            self.plan = self.plan | Plan.from_record(line)
        elif kind == "episode":
            record = Record.from_record(line)
            self.ended = False
            self.endings[record.key] = (record.outcome, record.result.reason)
            self.rates.add(record)
        elif kind == "inference":
            self.inference = line
        elif kind == "end":
            self.ended = True

    @property
    def finished(self) -> int:
        return len(self.endings)

    def speed(self) -> float | None:
        """Episodes per second over the last minute; None until two were seen to end."""
        if not self._arrivals:
            return None
        (first, before), (last, after) = self._arrivals[0], self._arrivals[-1]
        return (after - before) / (last - first) if last > first and after > before else None

    def headline(self) -> str:
        planned = self.plan.episodes
        parts = [f"{self.finished} of {planned or '?'} episodes"]
        errors = sum(outcome == "error" for outcome, _ in self.endings.values())
        if errors:
            parts.append(f"{errors} errors")
        speed = self.speed()
        if speed:
            parts.append(f"{speed:.2f} episodes/s")
            if planned > self.finished and self.is_written:
                parts.append(f"ETA {clock((planned - self.finished) / speed)}")
        parts.append("ended" if self.ended else "going on" if self.is_written else STOPPED)
        return " · ".join(parts)


def watch(run: Path, once: bool = False) -> int:
    """Show a run until it ends; Ctrl-C leaves it alone."""
    from rich.console import Console
    from rich.live import Live

    tail, progress, console = Tail(run), Progress(), Console()
    progress.add(tail.read(), monotonic(), is_held(tail.path.parent))
    if once or progress.ended or not console.is_terminal:
        console.print(_picture(progress, tail))
        return 0
    try:
        with Live(_picture(progress, tail), console=console, auto_refresh=False) as live:
            while not progress.ended:
                sleep(PERIOD_S)
                progress.add(tail.read(), monotonic(), is_held(tail.path.parent))
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

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("suite", "partition", "success so far, in order"):
        table.add_column(title, no_wrap=True)
    for suite, name, solved, measured in progress.rates.rows():
        table.add_row(suite, name, describe(solved, measured))
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total=progress.plan.episodes or max(progress.finished, 1), completed=progress.finished, width=30),
        Text(progress.headline()),
    )
    parts: list[Any] = [Text(f"policy {progress.policy} · {tail.path}"), bar, table]
    counts = Counter(f"{outcome}: {reason}" for outcome, reason in progress.endings.values() if reason)
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common(6))
    if reasons:
        parts.append(Text(reasons))
    if progress.inference is not None:
        from pytest_vla.inference.session import describe_recorded

        parts += [Text(line) for line in describe_recorded(progress.inference)]
    if tail.damaged or progress.unread:
        parts.append(Text(f"{tail.damaged + progress.unread} lines cannot be read and are left out"))
    return Group(*parts)
