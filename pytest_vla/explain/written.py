"""An explanation in the run's folder: its data, its pictures and its film, where the report finds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Result
from pytest_vla.explain.drawing import heated, paths, strip, unit_map
from pytest_vla.explain.maps import heat
from pytest_vla.explain.records import corruptions, to_record
from pytest_vla.pictures import Caption, captioned, in_a_row, picture_of
from pytest_vla.report.film import media_name
from pytest_vla.report.video import VideoWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_vla.explain.episodes import Episode
    from pytest_vla.explain.moment import Explained

FOLDER = "explain"


def write_episode(episode: Episode, folder: Path, played: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Everything of one episode; the record says which pictures there are."""
    folder.mkdir(parents=True, exist_ok=True)
    name = media_name(episode.record)
    record: dict[str, Any] = {**to_record(episode), "pictures": [], "film": "", "played": list(played)}
    for step in episode.steps:
        record["pictures"] += _strips(episode, step, folder, name)
        record["pictures"] += _units(step, folder, name)
    title = f"{episode.record.key}: the gripper from above"
    drawn = paths(played, title) if played else None
    if drawn is not None:
        drawn.save(folder / f"{name}-paths.png", optimize=True)
        record["pictures"].append({"file": f"{name}-paths.png", "kind": "paths", "step": 0, "text": title})
    record["film"] = _film(episode, folder / f"{name}.mp4")
    (folder / f"{name}.json").write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return record


def _strips(episode: Episode, step: Explained, folder: Path, name: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    seen = episode.recording.seen[step.step]
    for camera in step.sizes:
        title = f"step {step.step} ({step.phase})"
        verdict = step.verdicts[f"patches {camera}"]
        file = f"{name}-s{step.step}-{len(made)}.png"
        strip(seen["images"][camera], step.cells, camera, verdict, title, step.unit).save(folder / file, optimize=True)
        made.append({"file": file, "kind": "strip", "step": step.step, "text": f"{title}, camera {camera}: {verdict}"})
    return made


def _units(step: Explained, folder: Path, name: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for part in corruptions(step):
        title = f"step {step.step}: restored after {part['corrupted_by']} was hidden"
        drawn = unit_map(part["units"], title)
        if drawn is not None:
            file = f"{name}-s{step.step}-units{len(made)}.png"
            drawn.save(folder / file, optimize=True)
            made.append({"file": file, "kind": "units", "step": step.step, "text": title})
    return made


def _film(episode: Episode, path: Path) -> str:
    """The episode with the heat of the last look on top; nothing where no camera was looked through."""
    recording, steps = episode.recording, {step.step: step for step in episode.steps}
    cameras = recording.cameras
    if not cameras or not steps or len(recording.seen) < 2:
        return ""
    writer, now = VideoWriter(path, len(recording.seen)), None
    result = episode.record.result
    try:
        for number, seen in enumerate(recording.seen):
            now = steps.get(number, now)
            tiles = [_tile(picture_of(seen["images"][camera]), now, camera) for camera in cameras]
            when = "" if now is None else f"heat: patches at step {now.step}"
            writer.add(captioned(in_a_row(tiles, gap_px=2), _caption(result, number, when)))
    finally:
        writer.close()
    return path.name


def _caption(result: Result, number: int, when: str) -> Caption:
    last = number == result.steps
    ending = result.ending if last else ""
    return Caption(
        result.instruction, number, result.steps, success=last and bool(result), perturbation=when, ending=ending
    )


def _tile(shown: Any, step: Explained | None, camera: str) -> Any:
    if step is None or not step.above(f"patches {camera}"):
        return shown
    return heated(shown, heat(step.cells, camera, (shown.height, shown.width)), 0.45)
