"""What hunts found: the smallest perturbations that break a policy, and how far it held on every axis."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from pytest_vla.options import shown_path
from pytest_vla.registry import takes_trust
from pytest_vla.run import Cause, HuntRecord, Reach, Run, replay_command
from pytest_vla.run.hunts import Count
from pytest_vla.run.intervals import Interval, exact_interval

MAX_LEVEL = 8


@dataclass(frozen=True, slots=True)
class RateView:
    """Failures of so many scenes."""

    count: Count
    interval: Interval

    @classmethod
    def of(cls, count: Count) -> RateView:
        return cls(count, exact_interval(count.failed, count.asked))


@dataclass(frozen=True, slots=True)
class CauseView:
    """One smallest perturbation."""

    record: Cause
    magnitudes: str
    rate: RateView
    lower: RateView | None
    inside: RateView | None
    """Where its condition holds, if it has one."""
    outside: RateView | None
    replay: str
    picture: str = ""
    """The neutral and the failing first frame as a data address."""


@dataclass(frozen=True, slots=True)
class HuntView:
    """One task's hunt."""

    record: HuntRecord
    base: RateView
    """Unperturbed."""
    causes: list[CauseView]


@dataclass(frozen=True, slots=True)
class Entry:
    """One axis in one hunt: `share` places it between fragile (0) and robust (100)."""

    text: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class HuntMap:
    hunts: list[HuntView]
    rows: list[tuple[str, list[Entry]]]


def hunt_map(run: Run) -> HuntMap | None:
    """All hunts of a run; None where there was none."""
    if not run.hunts:
        return None
    axes = dict.fromkeys(axis for hunt in run.hunts for axis, reach in hunt.map.items() if _was_seen(reach))
    rows = [(axis, [_entry(hunt.map.get(axis)) for hunt in run.hunts]) for axis in axes]
    views = [
        HuntView(hunt, RateView.of(hunt.base), [_cause(hunt, cause, run) for cause in hunt.causes])
        for hunt in run.hunts
    ]
    return HuntMap(views, rows)


def _cause(hunt: HuntRecord, cause: Cause, run: Run) -> CauseView:
    condition = cause.condition
    return CauseView(
        cause,
        _magnitudes(cause.perturbation),
        RateView.of(cause.rate),
        None if cause.lower is None else RateView.of(cause.lower.count),
        None if condition is None else RateView.of(condition.inside),
        None if condition is None else RateView.of(condition.outside),
        replay_command(shown_path(run.path), hunt.episode(cause), takes_trust(hunt.suite, run.policy.builtin)),
        _picture(cause.picture, run.path.parent),
    )


def _magnitudes(perturbation: str) -> str:
    from pytest_vla.perturb import Perturbation, PerturbationError

    try:
        return Perturbation.parse(perturbation).describe()
    except PerturbationError:
        return ""


def _picture(name: str, folder: Path) -> str:
    """A picture in the run's folder, also where an older file names it by another way to that folder.

    No other file: a page is shared, and the name is whatever the run file says.
    """
    path, inside = Path(name), folder.resolve()
    for place in (folder / path, folder / path.parent.name / path.name):
        real = place.resolve()
        if name and real.is_relative_to(inside) and real.suffix == ".png" and real.is_file():
            return f"data:image/png;base64,{base64.b64encode(real.read_bytes()).decode()}"
    return ""


def _was_seen(reach: Reach | None) -> bool:
    return reach is not None and (reach.fails_at is not None or reach.episodes > 0 or reach.doubtful is not None)


def _entry(reach: Reach | None) -> Entry:
    if reach is None or not _was_seen(reach):
        return Entry("not seen solved")
    if reach.fails_at is not None:
        text = f"fails at {reach.fails_at}"
        if reach.together_with:
            text += f" with {', '.join(reach.together_with)}"
        return Entry(text, 40 * (abs(reach.fails_at) - 1) / MAX_LEVEL)
    failed = f", {reach.failed} failed" if reach.failed else ""
    text = f"holds to {reach.holds_to} (n={reach.episodes}{failed})"
    if reach.doubtful is not None:
        text += f"; beyond doubtful: {reach.doubtful.failed} of {reach.doubtful.asked} failed"
    return Entry(text, 50 + 50 * reach.holds_to / MAX_LEVEL)
