"""What was measured, as data: the file of `--json`, and what the report is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_vla.episode import builtin
from pytest_vla.explain.chance import Verdict
from pytest_vla.explain.episodes import Episode
from pytest_vla.explain.moment import Effect, Explained

FORMAT = 1


def to_record(episode: Episode) -> dict[str, Any]:
    """One episode: every patch, span and thing with its step, ablations as the mean over steps."""
    steps = episode.steps
    made: dict[str, Any] = {
        "format": FORMAT,
        "episode": str(episode.record.key),
        "suite": episode.record.key.suite,
        "task": episode.record.key.task,
        "partition": episode.record.key.partition,
        "outcome": episode.record.outcome,
        "policy": episode.policy,
        "instruction": episode.record.result.instruction,
        "score": steps[0].unit if steps else "",
        "note": episode.recording.note,
        "patches": [
            {
                "step": step.step,
                "camera": cell.camera,
                "box": list(cell.box),
                "effect": cell.effect,
                "share": cell.share,
            }
            for step in steps
            for cell in step.cells
        ],
        "spans": [{"step": step.step, "text": each.name, **_effect(each)} for step in steps for each in step.spans],
        "ablations": _means(steps),
        "objects": [
            {"step": step.step, "camera": each.camera, "name": each.name, "area": each.area, **_effect(each)}
            for step in steps
            for each in step.things
        ],
        "units": [
            {"step": step.step, "corrupted_by": part["corrupted_by"], **unit}
            for step in steps
            for part in corruptions(step)
            for unit in part["units"]
        ],
        "steps": [_step(step) for step in steps],
    }
    return builtin(made)  # type: ignore[no-any-return]


def corruptions(step: Explained) -> list[dict[str, Any]]:
    return [] if step.units is None else [dict(step.units), *step.units.get("others", ())]


def _effect(each: Effect) -> dict[str, Any]:
    return {"effect": each.effect, **({} if each.metres is None else {"metres": each.metres})}


def _means(steps: Sequence[Explained]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for step in steps:
        for each in step.ablations:
            values.setdefault(each.name, []).append(each.effect)
    return {name: float(np.mean(found)) for name, found in values.items()}


def _step(step: Explained) -> dict[str, Any]:
    return {
        "step": step.step,
        "phase": step.phase,
        "rows": step.rows,
        "words_masked": step.masked,
        "sizes": {camera: list(size) for camera, size in step.sizes.items()},
        "looks_at": {name: {"share": share, "area": area} for name, (share, area) in step.looks_at.items()},
        "verdicts": {name: verdict.to_dict() for name, verdict in step.verdicts.items()},
        "ablations": {
            each.name: {**_effect(each), **({} if each.verdict is None else {"chance": each.verdict.to_dict()})}
            for each in step.ablations
        },
        "restoring": [
            {name: part[name] for name in ("corrupted_by", "effect", "clean", "corrupted", "skipped") if name in part}
            for part in corruptions(step)
        ],
        **({"restoring_note": step.units["note"]} if step.units is not None and step.units.get("note") else {}),
    }


def lines(episode: Episode, most: int = 6) -> list[str]:
    """The same as a person would say it."""
    said = [f"{episode.record.key}: {episode.record.outcome}, by {episode.policy}"]
    said += [f"note: {episode.recording.note}"] if episode.recording.note else []
    for step in episode.steps:
        said.append(f"step {step.step} ({step.phase}), {step.rows} rows; effects: {step.unit}")
        for name, verdict in step.verdicts.items():
            if name.startswith("patches "):
                said.append(f"  {name.replace('patches', 'picture')}: {_at(verdict.what)}{verdict}")
        if step.looks_at:
            ranked = sorted(step.looks_at.items(), key=lambda each: -each[1][0])
            said.append("  looks at: " + ", ".join(f"{name} {100 * share:.0f}%" for name, (share, _) in ranked))
        things = [(f"{each.name} ({each.camera})", each) for each in step.things]
        said += _listed("object", things, step.verdicts.get("things"), most)
        words = [(repr(each.name), each) for each in step.spans]
        said += _listed(f"words {'masked' if step.masked else 'left out'}", words, step.verdicts.get("spans"), most)
        for each in step.ablations:
            said.append(f"  {each.name}: {each.verdict}{_metres(each)}")
        for part in corruptions(step):
            said += _unit_lines(part, most)
    return said


def _at(box: str) -> str:
    return f"strongest at {box}, "


def _listed(what: str, named: list[tuple[str, Effect]], verdict: Verdict | None, most: int) -> list[str]:
    """The largest first, where the largest is more than chance."""
    if verdict is None:
        return []
    if not verdict.above:
        return [f"  {what}: {verdict}"]
    ranked = sorted(named, key=lambda each: -each[1].effect)[:most]
    return [f"  {what} {name}: {each.effect:.3g}{_metres(each)}" for name, each in ranked]


def _metres(each: Effect) -> str:
    return "" if each.metres is None else f" ({1000 * each.metres:.0f} mm)"


def _unit_lines(part: dict[str, Any], most: int) -> list[str]:
    if not part["units"]:
        return [f"  activations: {part.get('note', 'nothing could be restored')}"]
    said = [f"  restored after {part['corrupted_by']} was hidden:"]
    for kind in dict.fromkeys(unit["kind"] for unit in part["units"]):
        ranked = sorted((u for u in part["units"] if u["kind"] == kind), key=lambda u: -u["restored"])[
            : max(most // 2, 1)
        ]
        said.append(f"    {kind}s: " + ", ".join(f"{unit['unit']} {unit['restored']:.2f}" for unit in ranked))
    return said
