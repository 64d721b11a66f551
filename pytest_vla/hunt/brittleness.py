"""The brittleness map: for every axis the smallest level that breaks a task, or how far it was seen to hold."""

from __future__ import annotations

from typing import Any

from pytest_vla.hunt.search import Outcome
from pytest_vla.hunt.space import active


def brittleness(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """By axis: `fails_at` and `together_with` for an axis in a cause, else `holds_to` a level in `episodes` solved."""
    found: dict[str, dict[str, Any]] = {}
    solved = outcome.history.solved_points()
    for number, name in enumerate(outcome.space.axes):
        causes = [cause.point for cause in outcome.causes if cause.point[number]]
        alone = [point for point in causes if len(active(point)) == 1]
        levels = solved[:, number]
        seen = sorted({int(level) for level in levels if level})
        entry: dict[str, Any] = {
            "holds_to": max(seen, default=0),
            "seen": len(seen),
            "episodes": int((levels > 0).sum()),
        }
        if causes:
            point = min(alone or causes, key=lambda point: point[number])
            entry["fails_at"] = point[number]
            entry["together_with"] = [outcome.space.axes[other] for other in active(point) if other != number]
        found[name] = entry
    return found
