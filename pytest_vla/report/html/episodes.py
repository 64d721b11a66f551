"""The episodes of the page as compact JSON that can stand inside a script element, whatever text is in it."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_vla.options import shown_path
from pytest_vla.registry import takes_trust
from pytest_vla.report.film import FLIPS, Film
from pytest_vla.report.html.page import Page, Side
from pytest_vla.run import KeySet, Pairs, Record, Run, Table
from pytest_vla.run.table import ERROR, UNSOLVED
from pytest_vla.run.trace import decode_actions, flat_columns

if TYPE_CHECKING:
    from markupsafe import Markup

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("store.js", "format.js", "filters.js", "list.js", "charts.js", "episode.js", "main.js")
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
LISTED = 20_000
"""Episodes in the list at most: with these the page still opens in two seconds and answers a filter at once."""
TAPES_BYTES = 2_000_000
"""How much text the curves of episodes without a film may add to a page."""

#: what the page knows of every episode: texts that many of them share, and values of their own
WORDS: Mapping[str, Callable[[Record], str | None]] = {
    "suite": lambda record: record.key.suite,
    "task": lambda record: record.key.task,
    "partition": lambda record: record.key.partition,
    "perturbation": lambda record: record.key.perturbation,
    "version": lambda record: record.key.version,
    "outcome": lambda record: record.outcome,
    "reason": lambda record: record.result.reason,
    "test": lambda record: record.test,
    "objection": lambda record: record.objection,
    "instruction": lambda record: record.result.instruction,
    "message": lambda record: record.result.message,
}
VALUES: Mapping[str, Callable[[Record], Any]] = {
    "id": lambda record: str(record.key),
    "index": lambda record: record.key.index,
    "repeat": lambda record: record.key.repeat,
    "steps": lambda record: record.result.steps,
    "progress": lambda record: _short(record.result.progress),
    "seconds": lambda record: _short(record.result.seconds),
    "seconds_reset": lambda record: _short(record.result.timings.get("reset")),
    "seconds_draw": lambda record: _short(record.result.timings.get("draw")),
    "seconds_act": lambda record: _short(record.result.timings.get("act")),
    "seconds_step": lambda record: _short(record.result.timings.get("step")),
    "digest": lambda record: record.result.digest,
    "initial_digest": lambda record: record.result.initial_digest,
}


@dataclass(frozen=True, slots=True)
class Episodes:
    """The list, and what the script of the page reads."""

    listed: int
    total: int
    data: Markup
    blocks: list[tuple[str, Markup]]
    """Films and curves of single episodes, parsed when one is opened."""
    media: list[tuple[str, str, str]]
    """Name, type and base64 text of each file inside the page."""
    script: Markup


class Words:
    """Every text once: episodes say most of theirs ten thousand times."""

    def __init__(self) -> None:
        self.list: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str | None) -> int:
        word = text or ""
        if word not in self._numbers:
            self._numbers[word] = len(self.list)
            self.list.append(word)
        return self._numbers[word]


def episodes_view(page: Page) -> Episodes | None:
    """None for a run of hunts alone."""
    from markupsafe import Markup

    if not len(page.run) and page.run.hunts:
        return None
    words, blocks = Words(), []
    runs: list[dict[str, Any]] = []
    rows = listed_rows(page.run.table, LISTED)
    for number, side in enumerate(page.sides):
        rows = rows if number == 0 else same_rows(side.run, page.run, rows)
        columns, details = collect(side, rows, words)
        blocks += [(f"detail-{number}-{place}", embed(detail)) for place, detail in details]
        runs.append(
            {
                "label": "this run" if number == 0 else "compared with",
                "path": shown_path(side.run.path),
                "policy": side.run.policy.text,
                "trust": any(takes_trust(cell.suite, side.run.policy.builtin) for cell in side.run.table.cells),
                "total": len(side.run),
                "listed": len(rows),
                "columns": columns,
                "flips": _flips(page.run.table, page.pairs, rows, words) if number == 0 else [],
                "details": [place for place, _ in details],
                "films": [place for place, detail in details if detail.get("video")],
            }
        )
    media = None if page.inline_media else f"{quote(page.media.name)}/"
    files = file_names(film for side in page.sides for film in side.films.values())
    return Episodes(
        runs[0]["listed"],
        len(page.run),
        embed({"words": words.list, "word_fields": list(WORDS), "runs": runs, "media": media}),
        blocks,
        _inlined(page.media, files) if page.inline_media else [],
        Markup("\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)),
    )


def listed_rows(table: Table, most: int) -> list[int]:
    """The rows the list can hold, in their order: errors, then unsolved ones, then others, and of every cell some."""
    import numpy as np

    if len(table) <= most:
        return list(range(len(table)))
    urgency = np.select([table.outcome == ERROR, table.outcome == UNSOLVED], [0, 1], 2)
    group = table.cell.astype(np.int64) * 3 + urgency
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    turn = np.empty(len(table), dtype=np.int64)
    turn[order] = np.arange(len(table)) - starts  # the how many-th of its cell and urgency each row is
    rows: list[int] = np.sort(np.lexsort((turn, urgency))[:most]).tolist()
    return rows


def same_rows(other: Run, run: Run, rows: Sequence[int]) -> list[int]:
    """The rows of the other run that are about these episodes."""
    keys = KeySet.of(run.table.key(row) for row in rows)
    return [row for row in range(len(other)) if other.table.key(row) in keys]


def collect(
    side: Side, rows: Sequence[int], words: Words
) -> tuple[dict[str, list[Any]], list[tuple[int, dict[str, Any]]]]:
    """One list per field, half the size of one object per episode and quick to filter; and details by place.

    Details are films, and the recorded curves of other episodes while there is room, of unsolved ones first.
    """
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in (*WORDS, *VALUES)}
    details: list[tuple[int, dict[str, Any]]] = []
    left = TAPES_BYTES
    outcome = side.run.table.outcome
    places = sorted(range(len(rows)), key=lambda place: (outcome[rows[place]] != UNSOLVED, place))
    for place, record in zip(places, side.run.records(rows[place] for place in places), strict=True):
        for name, text in WORDS.items():
            columns[name][place] = words.number(text(record))
        for name, value in VALUES.items():
            columns[name][place] = value(record)
        film = side.films.get(str(record.key))
        if film is not None:
            details.append((place, _film(film)))
        elif left > 0 and (record.result.actions or record.result.curve):
            curve, actions = record.result.curve or [], _actions(record)
            left -= 8 * sum(len(values) for values in actions.values()) + 6 * len(curve)
            details.append((place, {"progress": curve, "actions": actions}))
    return columns, details


def _flips(table: Table, pairs: Pairs | None, rows: Sequence[int], words: Words) -> list[int]:
    """What became of each episode since the other run, or why nobody can say; repeats stand aside."""
    if pairs is None:
        return []
    flips, place_in_pairs = pairs.flips(), (table.repeat == 0).cumsum() - 1

    def text(row: int) -> str:
        if table.repeat[row]:
            return ""
        place = int(place_in_pairs[row])
        return str(pairs.why_new(place) or FLIPS.get(int(flips[place]), "same"))

    return [words.number(text(row)) for row in rows]


def embed(value: Any) -> Markup:
    """JSON that neither ends its script element nor means anything else there."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return Markup(text)


def file_names(films: Iterable[Film]) -> list[str]:
    """Every file the films consist of, once."""
    return list(dict.fromkeys(name for film in films for name in film.files))


def _inlined(folder: Path, names: Iterable[str]) -> list[tuple[str, str, str]]:
    return [
        (
            name,
            mimetypes.guess_type(name)[0] or "application/octet-stream",
            base64.b64encode((folder / name).read_bytes()).decode(),
        )
        for name in names
    ]


def _film(film: Film) -> dict[str, Any]:
    shown = {"video": film.video, "strip": film.strip, "shown": film.shown, "note": film.note}
    return {**shown, "prompt": film.prompt, "actions": film.actions, "progress": film.progress}


def _actions(record: Record) -> dict[str, list[float]]:
    try:
        return flat_columns(decode_actions(record.result.actions or {}))
    except (ValueError, TypeError, KeyError):
        return {}


def _short(value: float | None) -> float | None:
    return round(value, 4) if isinstance(value, float) else value
