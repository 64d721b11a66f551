"""What hunts found: the smallest perturbations that break a policy, and how far it held on every axis."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vla.gate.intervals import rate_interval
from pytest_vla.options import shown_path
from pytest_vla.report.runfile import Record, Run
from pytest_vla.report.table import replay_command

MAX_LEVEL = 8


@dataclass(frozen=True, slots=True)
class Cause:
    """One smallest perturbation."""

    perturbation: str
    magnitudes: str
    failed: int
    asked: int
    interval: tuple[float, float]
    replay: str
    picture: str = ""
    """The neutral and the failing first frame as a data address."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """One task's hunt."""

    name: str
    episodes: int
    control: tuple[int, int]
    causes: list[Cause] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry:
    """One axis in one hunt: `share` places it between fragile (0) and robust (100)."""

    text: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class HuntMap:
    hunts: list[Hunt]
    rows: list[tuple[str, list[Entry]]]
    unread: int = 0
    """Lines about hunts that are not of the form this version writes."""


def hunt_map(run: Run) -> HuntMap | None:
    """All hunts of a run; None where there was none."""
    lines = [record for record in run.others if record.get("type") == "hunt"]
    if not lines:
        return None
    hunts, maps, unread = [], [], 0
    for line in lines:
        try:
            hunts.append(_hunt(line, run))
            maps.append(dict(line["map"]))
        except (KeyError, TypeError, ValueError):
            unread += 1
    axes = list(dict.fromkeys(axis for entries in maps for axis in entries if _was_seen(entries[axis])))
    rows = [(axis, [_entry(entries.get(axis)) for entries in maps[: len(hunts)]]) for axis in axes]
    return HuntMap(hunts, rows, unread)


def _hunt(line: Record, run: Run) -> Hunt:
    solved, controls = line["control"]
    where = f"{line['suite']}/{line['task']}-{line['partition']}"
    return Hunt(
        where, int(line["episodes"]), (int(solved), int(controls)), [_cause(line, each, run) for each in line["causes"]]
    )


def _cause(line: Record, cause: Mapping[str, Any], run: Run) -> Cause:
    perturbation, failed, asked = str(cause["perturbation"]), int(cause["failed"]), int(cause["asked"])
    episode = {**line, "index": int(cause["index"]), "perturbation": perturbation}
    return Cause(
        perturbation,
        _magnitudes(perturbation),
        failed,
        asked,
        rate_interval(failed, asked),
        replay_command(shown_path(run.path), episode),
        _picture(cause.get("picture"), run.path.parent),
    )


def _magnitudes(perturbation: str) -> str:
    from pytest_vla.perturb import Perturbation, PerturbationError

    try:
        return Perturbation.parse(perturbation).describe()
    except PerturbationError:
        return ""


def _picture(name: Any, folder: Path) -> str:
    """The picture as it was named, or in the run's folder if that has moved since."""
    if not name:
        return ""
    path = Path(str(name))
    found: Sequence[Path] = [place for place in (path, folder / path.parent.name / path.name) if place.is_file()]
    return f"data:image/png;base64,{base64.b64encode(found[0].read_bytes()).decode()}" if found else ""


def _was_seen(entry: Any) -> bool:
    return isinstance(entry, Mapping) and bool("fails_at" in entry or entry.get("episodes"))


def _entry(entry: Any) -> Entry:
    if not _was_seen(entry):
        return Entry("not seen solved")
    if "fails_at" in entry:
        others = entry.get("together_with") or []
        level = int(entry["fails_at"])
        text = f"fails at {level}" + (f" with {', '.join(map(str, others))}" if others else "")
        return Entry(text, 40 * (level - 1) / MAX_LEVEL)
    level = int(entry.get("holds_to", 0))
    return Entry(f"holds to {level} (n={entry['episodes']})", 50 + 50 * level / MAX_LEVEL)
