"""All tasks in one picture: `python -m pytest_vla.suites.agnostos.gallery FILE.png` draws each at its start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.kit.edits import CameraEdit
from pytest_vla.kit.hand_edits import SceneEdits
from pytest_vla.kit.hand_env import HandEnv
from pytest_vla.kit.suite import own
from pytest_vla.pictures import INK, PAPER, font, picture_of, wrap

from .benchmark import SPLITS, AgnostosSuite

if TYPE_CHECKING:
    from PIL.Image import Image

RENDER_PX, TILE_PX, GAP_PX, LETTER_PX = 768, 200, 6, 12
COLUMNS = 5
SKIP, HAND = 0.14, 0.06  # of a picture's height: the hand waits up there
ROUND_DEG = 150  # how far round the camera goes for what turns its front to the robot
UNLIKE = 14  # how far a pixel's colour is from the table's where something stands
FACING_THE_ROBOT = (
    *("open_drawer", "put_item_in_drawer", "put_groceries_in_cupboard", "put_money_in_safe", "close_microwave"),
    *("close_fridge", "put_books_on_bookshelf", "turn_oven_on", "unplug_charger", "toilet_seat_down"),
    *("open_grill", "take_usb_out_of_computer", "close_laptop_lid"),
)


def sheet() -> Image:
    """Rows of tiles under the names of their partitions."""
    from PIL import Image, ImageDraw

    suite = AgnostosSuite("agnostos_floating", mode="floating", image_px=RENDER_PX)
    env = own(suite.make_env("close_jar"), HandEnv)
    letters, height = font(LETTER_PX), TILE_PX + 4 * LETTER_PX
    rows: list[str | list[tuple[str, Any]]] = []
    for split in SPLITS:
        rows.append(split)
        for number, name in enumerate(task for task, partition in suite.cells() if partition == split):
            if number % COLUMNS == 0:
                rows.append([])
            row = rows[-1]
            assert isinstance(row, list)
            row.append((name, tile(suite, env, name, split)))
    env.close()
    width = COLUMNS * (TILE_PX + GAP_PX)
    page = Image.new("RGB", (width, sum(2 * LETTER_PX if isinstance(row, str) else height for row in rows)), PAPER)
    pen, top = ImageDraw.Draw(page), 0
    for row in rows:
        if isinstance(row, str):
            pen.text((GAP_PX, top + LETTER_PX // 2), row, INK, font(LETTER_PX + 3))
            top += 2 * LETTER_PX
            continue
        for column, (words, picture) in enumerate(row):
            left = column * (TILE_PX + GAP_PX)
            page.paste(picture, (left, top))
            for line, text in enumerate(wrap(words, TILE_PX, letters)[:2]):
                pen.text((left + 2, top + TILE_PX + 2 + line * (LETTER_PX + 3)), text, INK, letters)
        top += height
    return page


def tile(suite: AgnostosSuite, env: HandEnv, name: str, split: str) -> Image:
    """The task's first scene, from the side from which it is seen best, without the empty table around it."""
    edits = SceneEdits(fixed=CameraEdit(yaw_deg=ROUND_DEG)) if name in FACING_THE_ROBOT else None
    observation, _ = env.reset(options={"episode": suite.episode(name, split, 0), "edits": edits})
    image = observation["images"]["front"]
    table = np.median(image[-40:, :40].reshape(-1, 3), axis=0)
    unlike = np.abs(image.astype(int) - table).max(axis=2) > UNLIKE
    unlike &= image.any(axis=2)  # nothing is as black as where there is nothing
    unlike[: round(SKIP * RENDER_PX)] &= name in FACING_THE_ROBOT
    unlike[: round(HAND * RENDER_PX)] = False
    down, across = np.nonzero(unlike)
    centre = (int(down.min() + down.max()) // 2, int(across.min() + across.max()) // 2)
    half = max(int(down.max() - down.min()), int(across.max() - across.min())) // 2 + 16
    top, left = (min(max(middle - half, 0), max(RENDER_PX - 2 * half, 0)) for middle in centre)
    return picture_of(np.ascontiguousarray(image[top : top + 2 * half, left : left + 2 * half])).resize(
        (TILE_PX, TILE_PX)
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    sheet().quantize(256).save(target, optimize=True)
    print(target)
