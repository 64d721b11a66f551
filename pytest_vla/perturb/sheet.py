"""A contact sheet of every axis at both ends, to be looked at: is it what its name says, can the task still be seen?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.perturb.axes import AXES
from pytest_vla.perturb.axis import MAX_LEVEL, Axis
from pytest_vla.perturb.wrapper import perturbed

if TYPE_CHECKING:
    from PIL import Image as Pillow
    from PIL import ImageDraw

    from pytest_vla.suite import Suite

TILE_PX = 192
COLUMNS = 4
TEXT_PX = 14
GAP_PX = 6
COLOURS = 255


def write_sheet(path: Path, suite: Suite, task: str | None, camera: str | None, index: int) -> str:
    """Write the sheet as a PNG and say how large it is; the suite's first task and camera are the default."""
    task, camera = task or suite.tasks()[0], camera or suite.cameras[0]
    suite.select([task])
    sheet = contact_sheet(suite, task, camera, index)
    sheet.quantize(COLOURS).save(path, optimize=True)
    return f"{path}: {sheet.width} x {sheet.height}, {path.stat().st_size / 1024:.0f} KB"


def contact_sheet(suite: Suite, task: str, camera: str, index: int) -> Pillow.Image:
    """Frames of every axis that can be seen at once, words of every axis of language, and the neutral ones first."""
    from PIL import Image, ImageDraw

    env = suite.make_env(task)
    try:
        neutral = observed(suite, env, task, index, "")
        seen = np.asarray(neutral["images"][camera])  # pictures may be drawn when they are asked for
        shown = [AXES[name] for name in suite.axes() if AXES[name].group not in ("language", "robot")]
        frames = [
            (axis, [_frame(suite, env, task, index, axis, level, camera) for level in _ends(axis)]) for axis in shown
        ]
        words = [(axis, _words(suite, env, task, index, axis)) for axis in _of_language(suite)]
    finally:
        env.close()
    frames = [(axis, ends) for axis, ends in frames if not all(np.array_equal(end, seen) for end in ends)]
    first = _tile(seen)
    cell = (2 * first.width + GAP_PX, first.height + TEXT_PX + GAP_PX)
    rows = -(-(len(frames) + 1) // COLUMNS)
    size = (COLUMNS * (cell[0] + GAP_PX), rows * cell[1] + (len(words) + 2) * TEXT_PX)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    _put(sheet, draw, 0, cell, f"{suite.name}/{task}, neutral", [first])
    for number, (axis, images) in enumerate(frames, start=1):
        title = f"{axis.name}: {' | '.join(axis.magnitude(level) for level in _ends(axis))}"
        _put(sheet, draw, number, cell, title, [_tile(image) for image in images])
    lines = [f"instruction: {neutral['instruction']}", *(f"{axis.name}={MAX_LEVEL}: {text}" for axis, text in words)]
    for number, line in enumerate(lines):
        draw.text((2, rows * cell[1] + number * TEXT_PX), line, fill="black")
    return sheet


def observed(suite: Suite, env: Any, task: str, index: int, perturbation: str) -> dict[str, Any]:
    """The first observation of an episode, as a policy gets it."""
    partition = suite.select([task])[0][1]
    episode = suite.episode(task, partition, index, perturbation)
    observation, _ = perturbed(env, suite, episode).reset(seed=episode.seed(), options={"episode": episode})
    return observation  # type: ignore[no-any-return]


def _ends(axis: Axis) -> tuple[int, int]:
    """The two furthest levels of an axis with two directions, else the first and the last."""
    return (axis.lowest or 1), MAX_LEVEL


def _of_language(suite: Suite) -> list[Axis]:
    return [AXES[name] for name in suite.axes() if AXES[name].group == "language"]


def _frame(suite: Suite, env: Any, task: str, index: int, axis: Axis, level: int, camera: str) -> Any:
    return np.asarray(observed(suite, env, task, index, f"{axis.name}={level}")["images"][camera])


def _words(suite: Suite, env: Any, task: str, index: int, axis: Axis) -> str:
    return repr(observed(suite, env, task, index, f"{axis.name}={MAX_LEVEL}")["instruction"])


def _tile(image: Any) -> Pillow.Image:
    from PIL import Image

    height, width = image.shape[:2]
    return Image.fromarray(np.ascontiguousarray(image)).resize((TILE_PX, round(TILE_PX * height / width)))


def _put(
    sheet: Pillow.Image, draw: ImageDraw.ImageDraw, number: int, cell: tuple[int, int], title: str, tiles: list[Any]
) -> None:
    row, column = divmod(number, COLUMNS)
    left, top = column * (cell[0] + GAP_PX), row * cell[1]
    draw.text((left + 2, top + 1), title, fill="black")
    for place, tile in enumerate(tiles):
        sheet.paste(tile, (left + place * (TILE_PX + 2), top + TEXT_PX))
