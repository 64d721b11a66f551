"""A suite to look at: `python -m pytest_vla.report.gallery SUITE FOLDER` draws a page for each task, of any suite.

A page has what is said, every picture of the prompt, and what the cameras see at the start, half way and at the end of
an episode that the oracle plays.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.pictures import INK, PAPER, font, in_a_column, in_a_row, picture_of, wrap
from pytest_vla.registry import get_suite
from pytest_vla.suite import Suite

if TYPE_CHECKING:
    from PIL.Image import Image

    from pytest_vla.episode import EpisodeKey

WIDTH_PX = 1048
GAP_PX = 4
LETTER_PX = 13
COLOURS = 128
BORDER_PX = 4  # what is left of the empty surroundings of a thing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", metavar="SUITE")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    parser.add_argument("--partition", action="append", default=[], help="a page for this partition too, or for 'all'")
    parser.add_argument("--episode", type=int, default=0, help="which episode of the cell (default: 0)")
    parser.add_argument("--sheet", metavar="NAME", help="one picture NAME.png instead: half way in every cell")
    asked = parser.parse_args()
    suite = get_suite(asked.suite)
    partitions = suite.partitions() if asked.partition == ["all"] else asked.partition
    for path in draw(suite, asked.folder, asked.task, partitions, asked.episode, asked.sheet):
        print(path)


def draw(
    suite: Suite,
    folder: Path,
    tasks: Sequence[str] = (),
    partitions: Sequence[str] = (),
    index: int = 0,
    sheet: str | None = None,
) -> list[Path]:
    """Write the pages and return their paths. Each task is shown in its first partition unless some are named."""
    from PIL.Image import Dither

    folder.mkdir(parents=True, exist_ok=True)
    cells = suite.select(tasks, partitions)
    if not partitions:
        cells = [(task, next(p for t, p in cells if t == task)) for task in suite.tasks() if task in dict(cells)]
    pages, shots = {}, []
    for task, partition in cells:
        key = suite.episode(task, partition, index)
        moments, prompt = _play(suite, key)
        pages[task if not partitions else f"{task}-{partition}"] = page(str(key), moments, prompt)
        shots.append(picture_of(next(iter(moments[len(moments) // 2].values()))))
    if sheet is not None:
        pages = {sheet: in_a_column(_rows(shots), GAP_PX)}
    paths = [folder / f"{name}.png" for name in pages]
    for path, picture in zip(paths, pages.values(), strict=True):
        picture.quantize(COLOURS, dither=Dither.NONE).save(path, optimize=True)
    return paths


def page(title: str, moments: Sequence[Mapping[str, Any]], prompt: Mapping[str, Any]) -> Image:
    """The words, what the cameras see moment by moment, and the prompt's pictures with their names."""
    seen = [in_a_row([picture_of(image) for image in images.values()], GAP_PX) for images in moments]
    shown = []
    for name, group in groupby(_pictures(prompt), key=lambda pair: pair[0]):
        views = in_a_row([picture for _, picture in group], GAP_PX)
        shown.append(in_a_column([_text(name, math.ceil(font(LETTER_PX).getlength(name))), views], 0))
    return in_a_column([_text(title), _text(str(prompt.get("text", ""))), *_rows(seen), *_rows(shown)], GAP_PX)


def _rows(pictures: Sequence[Image]) -> list[Image]:
    """Pictures one after the other, in as many rows as they take."""
    rows: list[list[Image]] = []
    for picture in pictures:
        if not rows or sum(other.width + GAP_PX for other in rows[-1]) + picture.width > WIDTH_PX:
            rows.append([])
        rows[-1].append(picture)
    return [in_a_row(row, GAP_PX) for row in rows]


def _play(suite: Suite, key: EpisodeKey) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """What is seen at the start, half way and at the end of the oracle's episode, and what was said."""
    env = suite.make_env(key.task)
    try:
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        prompt = observation.get("prompt", {"text": observation["instruction"]})
        words = prompt if isinstance(prompt, Mapping) else prompt.to_tree()
        oracle, seen = suite.oracle(env), [observation["images"]]
        state = oracle.reset(key)
        for _ in range(suite.step_limit(key.task)):
            observation, _, over, _, info = env.step(oracle.act([observation], [state])[0])
            seen.append(observation["images"])
            if over or info.get("success"):
                break
        return [dict(seen[at]) for at in sorted({0, len(seen) // 2, len(seen) - 1})], words
    finally:
        env.close()


def _pictures(tree: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Image]]:
    """Every picture in a prompt with the nearest name that is a word of it, without its empty surroundings."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _pictures(value, name if key in ("rgb", "segmentation", "images", "assets") else key)
        elif isinstance(value, np.ndarray) and value.ndim == 3:
            yield name or key, picture_of(_cropped(value))


def _cropped(image: np.ndarray) -> np.ndarray:
    """The part of a picture in which not everything has the colour of its corner."""
    rows, columns = np.nonzero(np.any(image != image[0, 0], axis=2))
    if not len(rows):
        return image
    top, left = max(rows.min() - BORDER_PX, 0), max(columns.min() - BORDER_PX, 0)
    return np.asarray(image[top : rows.max() + BORDER_PX, left : columns.max() + BORDER_PX])


def _text(text: str, width: int = WIDTH_PX) -> Image:
    """Words in as many lines as they take."""
    from PIL import Image, ImageDraw

    letters = font(LETTER_PX)
    lines = wrap(text, width, letters)
    picture = Image.new("RGB", (width, round(1.4 * LETTER_PX) * max(len(lines), 1)), PAPER)
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        pen.text((0, round(1.4 * LETTER_PX) * number), line, INK, letters)
    return picture


if __name__ == "__main__":
    main()
