"""What others have scored on the 23 unseen tasks of the original. Geometry differs here: to be read beside, not as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import mean

from pytest_vla.suite import Published

FILE = Path(__file__).parent / "data" / "published.json"
CAVEAT = (
    "Scenes, cameras and physics here are our own: the same tasks, words and rules, in other geometry. Read the "
    "published rates beside these, not as the same measurement."
)


@cache
def published() -> Mapping[str, Mapping[str, float]]:
    """By method and task, the success rate (0..1); a task that a method was not run on is left out."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        method: {task: row[number] / 100 for task, row in data["percent"].items() if row[number] is not None}
        for number, method in enumerate(data["methods"])
    }


def published_cells(partition_of: Mapping[str, str]) -> Published:
    """The same for reports; each task is in the partition it belongs to."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    rates = {
        method: {(task, partition_of[task]): rate for task, rate in scores.items() if task in partition_of}
        for method, scores in published().items()
    }
    return Published(rates, f"{data['source']}.", CAVEAT, data["groups"])


def level_mean(method: str, tasks: list[str]) -> float:
    """A method's mean over those of the tasks it was run on."""
    scores = published()[method]
    return mean(scores[task] for task in tasks if task in scores)
