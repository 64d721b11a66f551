"""What a policy looks at over many episodes: effects by thing, words and input, in each phase of the task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_vla.run.intervals import mean_interval

Records = Sequence[Mapping[str, Any]]
MOST_LINES = 8
LISTED = 40  # rows of one kind in one phase that are kept


def summary(records: Records) -> dict[str, Any]:
    """The line of a run file: for each suite and phase a table; every number is a mean over episodes.

    An episode counts once in a phase, by the mean over its looks. Intervals are of the mean over episodes, at 95 %.
    """
    groups: dict[tuple[str, str], list[tuple[int, Mapping[str, Any], int]]] = {}
    for number, record in enumerate(records):
        for step in record["steps"]:
            groups.setdefault((record["suite"], step["phase"]), []).append((number, step, step["step"]))
    tables = []
    for (suite, phase), looks in groups.items():
        tables.append(
            {
                "suite": suite,
                "phase": phase,
                "episodes": len({number for number, _, _ in looks}),
                "looks": len(looks),
                "silent": sum(not step["looks_at"] for _, step, _ in looks),
                "score": records[looks[0][0]]["score"],
                "things": _rows(_shares(looks), ("share", "area")),
                "painted": _rows(_named(records, looks, "objects", "name"), ("effect", "metres")),
                "words": _rows(_named(records, looks, "spans", "text"), ("effect", "metres")),
                "inputs": _rows(_inputs(looks), ("effect", "metres")),
                "units": _rows(_restored(records, looks), ("restored",), "restored"),
            }
        )
    return {"episodes": len(records), "tables": tables}


Found = Iterable[tuple[int, str, Mapping[str, Any]]]


def _shares(looks: Any) -> Found:
    names = list(dict.fromkeys(name for _, step, _ in looks for name in step["looks_at"]))
    for number, step, _ in looks:
        if step["looks_at"]:
            for name in names:  # a thing that was not to be seen has no share
                yield number, name, step["looks_at"].get(name, {"share": 0.0, "area": 0.0})


def _named(records: Records, looks: Any, part: str, name: str) -> Found:
    for number, _, when in looks:
        for each in records[number][part]:
            if each["step"] == when:
                yield number, general(each[name]), each


def _inputs(looks: Any) -> Found:
    for number, step, _ in looks:
        for name, each in step["ablations"].items():
            yield number, name, each


def _restored(records: Records, looks: Any) -> Found:
    for number, _, when in looks:
        for each in records[number]["units"]:
            if each["step"] == when:
                after = "a patch" if each["corrupted_by"].startswith("patch ") else "words"
                yield number, f"{each['kind']} {each['unit']}, {after} hidden", each


def general(text: str) -> str:
    """Words as many episodes have them: numbers are one word."""
    return re.sub(r"\d+(\.\d+)?", "N", text)


def _rows(found: Found, columns: Sequence[str], by: str = "") -> list[dict[str, Any]]:
    """One row a name, the largest first: mean and interval over episodes of each column that is known."""
    values: dict[str, dict[str, dict[int, list[float]]]] = {}
    for number, name, each in found:
        for column in columns:
            if each.get(column) is not None:
                kept = values.setdefault(name, {}).setdefault(column, {})
                kept.setdefault(number, []).append(float(each[column]))
    rows = []
    for name, known in values.items():
        row: dict[str, Any] = {"name": name}
        for column, by_episode in known.items():
            means = [float(np.mean(each)) for each in by_episode.values()]
            row["episodes"] = len(means)
            row[column] = float(np.mean(means))
            if column != "area":
                row[f"{column}_interval"] = list(mean_interval(means)) if len(means) > 1 else None
        rows.append(row)
    rows.sort(key=lambda row: -row.get(by or columns[0], 0.0))
    return rows[:LISTED]


def summary_lines(made: Mapping[str, Any]) -> list[str]:
    """The tables for the terminal."""
    said = [f"explained {made['episodes']} episodes"]
    for table in made["tables"]:
        said.append(f"{table['suite']}, {table['phase']} ({table['episodes']} episodes, {table['looks']} looks):")
        if table["silent"]:
            said.append(f"  pictures: no effect above chance in {table['silent']} of {table['looks']} looks")
        for row in table["things"][:MOST_LINES]:
            share = f"{100 * row['share']:.0f}% of the effect{_bounds(row['share_interval'], 100, 0)}"
            said.append(f"  looks at {row['name']}: {share}, {100 * row['area']:.1f}% of the picture")
        for kind, title in (("painted", "painted over"), ("words", "words hidden"), ("inputs", "input")):
            for row in table[kind][: MOST_LINES // 2]:
                metres = f", {1000 * row['metres']:.0f} mm" if "metres" in row else ""
                effect = f"{row['effect']:.2f}{_bounds(row['effect_interval'])}"
                said.append(f"  {title} {row['name']}: {effect}{metres} (n={row['episodes']})")
        said.append(f"  effects: {table['score']}")
    return said


def _bounds(interval: Sequence[float] | None, times: float = 1.0, digits: int = 2) -> str:
    """The interval of a mean; one episode has none."""
    if interval is None:
        return ""
    low, high = interval
    return f" [{times * low:.{digits}f}, {times * high:.{digits}f}]"
