"""Why it did so, on the page: what a policy looks at over many episodes, and single episodes with maps and films."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vla.report.html.page import Page

FOLDER = "explain"
KINDS = {".png": "image/png", ".mp4": "video/mp4"}
MOST_EPISODES = 24
MOST_BYTES = 4_000_000  # of one file inside the page
LISTED = 8
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


@dataclass(frozen=True, slots=True)
class Row:
    """A name and its numbers, as texts; `share` is its bar, 0..100."""

    name: str
    numbers: tuple[str, ...]
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """What a policy looks at in one phase of a suite's tasks."""

    title: str
    score: str
    silent: str
    things: list[Row]
    painted: list[Row]
    words: list[Row]
    inputs: list[Row]
    units: list[Row]


@dataclass(frozen=True, slots=True)
class Picture:
    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """One episode."""

    name: str
    outcome: str
    instruction: str
    score: str
    note: str
    pictures: list[Picture]
    film: str
    words: list[Row]
    inputs: list[Row]
    played: list[Row]


@dataclass(frozen=True, slots=True)
class ExplainView:
    tables: list[Table]
    episodes: list[Told]
    left_out: int


def explain_view(page: Page) -> ExplainView | None:
    """All explanations beside the run's file; None where there are none."""
    lines = page.run.of_type("explain")
    tables = [table for each in (lines[-1].get("tables", ()) if lines else ()) if (table := _table(each)) is not None]
    folder = page.run.path.parent / FOLDER
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    episodes = [told for file in files[:MOST_EPISODES] if (told := _told(file)) is not None]
    if not tables and not episodes:
        return None
    return ExplainView(tables, episodes, max(len(files) - MOST_EPISODES, 0))


def _table(line: Any) -> Table | None:
    """A line of a run file may hold anything: one that cannot be shown is left out."""
    try:
        looks, silent = int(line["looks"]), int(line["silent"])
        return Table(
            title=f"{line['suite']}, {line['phase']}: {int(line['episodes'])} episodes, {looks} looks",
            score=str(line["score"]),
            silent=f"no effect above chance in the pictures of {silent} of {looks} looks" if silent else "",
            things=[_thing(row) for row in line["things"]],
            painted=_effects(line["painted"]),
            words=_effects(line["words"]),
            inputs=_effects(line["inputs"]),
            units=[
                Row(str(row["name"]), (f"{float(row['restored']):.2f}", _bounds(row["restored_interval"])))
                for row in line["units"][:LISTED]
            ],
        )
    except UNREADABLE:
        return None


def _thing(row: Mapping[str, Any]) -> Row:
    share = 100 * float(row["share"])
    numbers = (f"{share:.0f}%", _bounds(row["share_interval"], 100, 0), f"{100 * float(row['area']):.1f}%")
    return Row(str(row["name"]), numbers, min(max(share, 0.0), 100.0))


def _effects(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [
        Row(
            str(row["name"]),
            (f"{float(row['effect']):.2f}", _bounds(row["effect_interval"]), _mm(row), str(int(row["episodes"]))),
        )
        for row in rows[:LISTED]
    ]


def _bounds(interval: Any, times: float = 1.0, digits: int = 2) -> str:
    """The interval of a mean; one episode has none."""
    if interval is None:
        return "one episode"
    low, high = interval
    return f"[{times * float(low):.{digits}f}, {times * float(high):.{digits}f}]"


def _mm(row: Mapping[str, Any]) -> str:
    return f"{1000 * float(row['metres']):.0f} mm" if row.get("metres") is not None else "–"


def _told(file: Path) -> Told | None:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        pictures = [
            Picture(address, str(each["text"]))
            for each in record["pictures"]
            if (address := _inside(file.parent, str(each["file"])))
        ]
        spans = sorted(record["spans"], key=lambda each: -float(each["effect"]))[:LISTED]
        ablations = [(step["step"], name, each) for step in record["steps"] for name, each in step["ablations"].items()]
        return Told(
            name=str(record["episode"]),
            outcome=str(record["outcome"]),
            instruction=str(record["instruction"]),
            score=str(record["score"]),
            note=str(record.get("note", "")),
            pictures=pictures,
            film=_inside(file.parent, str(record.get("film", ""))),
            words=[Row(str(s["text"]), (str(s["step"]), f"{float(s['effect']):.3g}", _mm(s))) for s in spans],
            inputs=[Row(f"{name}", (str(step), _judged(each), _mm(each))) for step, name, each in ablations],
            played=[Row(str(each["mask"]), (str(each["outcome"]),)) for each in record.get("played", ())],
        )
    except (OSError, *UNREADABLE):
        return None


def _judged(each: Mapping[str, Any]) -> str:
    chance = each.get("chance") or {}
    if chance and not chance.get("above_chance"):
        return "no effect above chance"
    return f"{float(each['effect']):.3g}"


def _inside(folder: Path, name: str) -> str:
    """A picture or film of the folder as a data address; no other file, whatever the name says."""
    real, inside = (folder / name).resolve(), folder.resolve()
    kind = KINDS.get(real.suffix)
    if not name or kind is None or real.parent != inside or not real.is_file() or real.stat().st_size > MOST_BYTES:
        return ""
    return f"data:{kind};base64,{base64.b64encode(real.read_bytes()).decode()}"
