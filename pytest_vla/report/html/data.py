"""The episodes of the page as compact JSON that can stand inside a script element, whatever text is in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from pytest_vla.report.film import Film, episode_id
from pytest_vla.report.runfile import Record
from pytest_vla.run.trace import decode_actions, flat_columns

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
TAPES_BYTES = 2_000_000
"""How much text the curves of episodes without a film may add to a page."""

WORDS = ("suite", "task", "partition", "perturbation", "outcome", "reason", "instruction", "message", "version")
NUMBERS = ("index", "repeat", "steps", "progress", "seconds")
TEXTS = ("digest", "initial_digest")


def embed(value: Any) -> Markup:
    """JSON that neither ends its script element nor means anything else there."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return Markup(text)


class Words:
    """Every text once: episodes say most of theirs ten thousand times."""

    def __init__(self) -> None:
        self.list: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: Any) -> int:
        word = "" if text is None else str(text)
        if word not in self._numbers:
            self._numbers[word] = len(self.list)
            self.list.append(word)
        return self._numbers[word]


def columns(records: Sequence[Record], words: Words) -> dict[str, list[Any]]:
    """One list per field: half the size of one object per episode, and quick to filter."""
    table: dict[str, list[Any]] = {name: [words.number(record.get(name)) for record in records] for name in WORDS}
    for name in NUMBERS:
        table[name] = [_short(record.get(name)) for record in records]
    for name in TEXTS:
        table[name] = [str(record.get(name) or "") for record in records]
    for phase in ("reset", "act", "step"):
        table[f"seconds_{phase}"] = [_short((record.get("timings") or {}).get(phase)) for record in records]
    return table


def details(records: Sequence[Record], films: Mapping[str, Film]) -> list[tuple[int, dict[str, Any]]]:
    """What the page knows of single episodes: films, and the recorded curves of others while there is room."""
    found, left = [], TAPES_BYTES
    for row, record in sorted(enumerate(records), key=lambda pair: (pair[1]["outcome"] != "unsolved", pair[0])):
        film = films.get(episode_id(record))
        if film is not None:
            found.append((row, _film(film)))
        elif left > 0 and (record.get("actions") or record.get("curve")):
            curve, actions = record.get("curve") or [], _actions(record)
            left -= 8 * sum(len(values) for values in actions.values()) + 6 * len(curve)
            found.append((row, {"progress": curve, "actions": actions}))
    return found


def file_names(films: Iterable[Film]) -> list[str]:
    """Every file the films consist of, once."""
    return list(dict.fromkeys(name for film in films for name in film.files))


def _film(film: Film) -> dict[str, Any]:
    shown = {"video": film.video, "strip": film.strip, "shown": film.shown, "note": film.note}
    return {**shown, "prompt": film.prompt, "actions": film.actions, "progress": film.progress}


def _actions(record: Record) -> dict[str, list[float]]:
    try:
        return flat_columns(decode_actions(record.get("actions") or {}))
    except (ValueError, TypeError, KeyError):
        return {}


def _short(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
