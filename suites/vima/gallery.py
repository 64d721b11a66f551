"""Pictures of every task with its whole prompt: `python -m pytest_vla.suites.vima.gallery OUT_DIR`.

The suite's README shows a small set of them; all were looked at, and a person can solve each from its prompt.
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import suite as vima
from .kit.partitions import TRAIN
from .meshes import footprint_radius
from .objects import OBJECTS

if TYPE_CHECKING:
    from PIL import Image

WIDTH_PX = 1048
MARGIN_PX = 8
LINE_PX = 14
CAPTION_PX = 12
LETTER_PX = 6
COLOURS = 256
TABLE_SCALE = 2
ROW_PX = 128
OBJECT_CROP_M = 0.16
PIXELS_PER_M = 251


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw one episode of every task of the VIMA suite with its prompt.")
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--all-levels", action="store_true", help="one picture per task and level, not per task")
    parser.add_argument("--episode", type=int, default=0, help="which episode of the cell (default: 0)")
    arguments = parser.parse_args()
    for path in draw(arguments.out, arguments.episode, all_levels=arguments.all_levels):
        print(path)


def draw(out: Path, index: int = 0, *, all_levels: bool = False) -> list[Path]:
    """Write the pictures and return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    suite = vima()
    env: Any = suite.make_env("rotate")
    cells = [cell for cell in suite.cells() if cell[1] != TRAIN]
    chosen = cells if all_levels else list({task: (task, level) for task, level in reversed(cells)}.values())[::-1]
    paths = []
    for task, level in sorted(chosen, key=cells.index):
        observation, _ = env.reset(options={"episode": suite.episode(task, level, index)})
        path = out / (f"{task}-{level}.png" if all_levels else f"{task}.png")
        page = _page(f"{task}, {level}, episode {index}", env.prompt, observation)
        page.quantize(COLOURS).save(path, optimize=True)
        paths.append(path)
    env.close()
    return paths


def _page(title: str, prompt: Any, observation: Any) -> Image.Image:
    """The table above, the prompt as text, and below it every image that the text names."""
    from PIL import Image, ImageDraw

    lines = textwrap.wrap(prompt.text, 150)
    images = {name: _strip(asset) for name, asset in prompt.assets.items()}
    widths = {name: max(image.shape[1], len(name) * LETTER_PX) for name, image in images.items()}
    rows = _rows(widths)
    table = np.concatenate([observation["images"]["top"], observation["images"]["front"]], axis=1)
    table_px = table.shape[0] * TABLE_SCALE
    top = (2 + len(lines)) * LINE_PX + table_px + MARGIN_PX
    page = Image.new("RGB", (WIDTH_PX, top + len(rows) * (ROW_PX + CAPTION_PX + MARGIN_PX)), "white")
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN_PX, 0), title, fill="black")
    size = (table.shape[1] * TABLE_SCALE, table_px)
    page.paste(Image.fromarray(table).resize(size, Image.Resampling.NEAREST), (MARGIN_PX, LINE_PX))
    for number, line in enumerate(lines):
        pen.text((MARGIN_PX, table_px + (number + 1) * LINE_PX + MARGIN_PX // 2), line, fill="black")
    for row, names in enumerate(rows):
        x, y = MARGIN_PX, top + row * (ROW_PX + CAPTION_PX + MARGIN_PX)
        for name in names:
            pen.text((x, y), name, fill="black")
            page.paste(Image.fromarray(images[name]), (x, y + CAPTION_PX))
            x += widths[name] + MARGIN_PX
    return page


def _strip(asset: Any) -> NDArray[np.uint8]:
    """Both views of an asset side by side; single objects lose most of their white surroundings."""
    views = [asset.rgb["top"], asset.rgb["front"]]
    if asset.kind == "object":
        look = asset.objects[0]
        reach = max(footprint_radius(look.shape) * look.scale[0], *(look.size or (0.0,)), OBJECTS[look.shape].height_m)
        half = min(round(max(OBJECT_CROP_M / 2, reach) * PIXELS_PER_M) + 4, 127)
        views = [view[:, 128 - half : 128 + half] for view in views]
    return np.concatenate(views, axis=1)


def _rows(widths: dict[str, int]) -> list[list[str]]:
    """Names of images that fit side by side."""
    rows: list[list[str]] = []
    x = WIDTH_PX
    for name, width in widths.items():
        if x + width + MARGIN_PX > WIDTH_PX:
            rows.append([])
            x = MARGIN_PX
        rows[-1].append(name)
        x += width + MARGIN_PX
    return rows


if __name__ == "__main__":
    main()
