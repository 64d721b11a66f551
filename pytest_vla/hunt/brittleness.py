"""The brittleness map: for every axis the smallest level that breaks a task, or how far it was seen to hold."""

from __future__ import annotations

from pytest_vla.hunt.search import Outcome
from pytest_vla.hunt.space import active
from pytest_vla.run import Reach


def brittleness(outcome: Outcome) -> dict[str, Reach]:
    """By axis: where it fails, if it is in a cause, and how far it was off in solved episodes."""
    reaches: dict[str, Reach] = {}
    solved = outcome.history.solved_points()
    for number, name in enumerate(outcome.space.axes):
        causes = [cause.point for cause in outcome.causes if cause.point[number]]
        alone = [point for point in causes if len(active(point)) == 1]
        point = min(alone or causes, key=lambda point: point[number], default=None)
        others = [] if point is None else [other for other in active(point) if other != number]
        levels = solved[:, number]
        seen = sorted({int(level) for level in levels if level})
        reaches[name] = Reach(
            fails_at=None if point is None else point[number],
            together_with=tuple(outcome.space.axes[other] for other in others),
            holds_to=max(seen, default=0),
            seen=len(seen),
            episodes=int((levels > 0).sum()),
        )
    return reaches
