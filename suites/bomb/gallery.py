"""The pictures of the README, made by one command: `python -m pytest_vla.suites.bomb.gallery FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.suite import Suite, get_suite

from .env import BombEnv
from .partitions import PARTITIONS

Image = NDArray[np.uint8]

COLOURS = 96
GAP_PX = 4
PICK, CARRY = 10, 15  # actions after which a first stone is in the gripper, and on its way


def main() -> None:
    """Write all sheets into a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "tasks.png", tasks())
    save(folder / "partitions.png", partitions())
    save(folder / "simulators.png", simulators())


def tasks() -> list[list[Image]]:
    """A row for each moment, a column for each task: start, grasp, the same from the wrist, end, goal picture."""
    suite, env = _open("bomb")
    columns = []
    for task in suite.tasks():
        shots = _shoot(suite, env, task, "unperturbed", 1, (0, PICK, suite.step_limit(task)))
        columns.append([shots[0]["front"], shots[1]["front"], shots[1]["wrist"], shots[2]["front"]])
    env.close()
    return [list(row) for row in zip(*columns, strict=True)]


def partitions() -> list[list[Image]]:
    """One episode of copy_position under each partition."""
    suite, env = _open("bomb")
    shots = [_shoot(suite, env, "copy_position", name, 3, (CARRY,))[0]["front"] for name in PARTITIONS]
    env.close()
    return [shots[:4], shots[4:]]


def simulators() -> list[list[Image]]:
    """The same moment in both simulators, and the picture that goes with the task."""
    row: list[Image] = []
    for name in ("bomb", "bomb_bullet"):
        suite, env = _open(name)
        shot = _shoot(suite, env, "copy_position", "unperturbed", 1, (CARRY,))[0]
        row += [shot["front"], shot["wrist"]]
        picture: Image = env.reset(options={"episode": suite.episode("copy_position", "unperturbed", 1)})[0]["prompt"][
            "images"
        ]["picture"]
        env.close()
    return [[*row, picture]]


def save(path: Path, rows: Sequence[Sequence[Image]]) -> None:
    """Tiles with a white gap between them, in few colours."""
    from PIL import Image as Pillow

    height, width = rows[0][0].shape[:2]
    shape = (len(rows) * (height + GAP_PX) - GAP_PX, len(rows[0]) * (width + GAP_PX) - GAP_PX, 3)
    sheet = np.full(shape, 255, np.uint8)
    for r, row in enumerate(rows):
        for c, tile in enumerate(row):
            y, x = r * (height + GAP_PX), c * (width + GAP_PX)
            sheet[y : y + height, x : x + width] = tile
    Pillow.fromarray(sheet).quantize(COLOURS, dither=Pillow.Dither.NONE).save(path, optimize=True)


def _open(name: str) -> tuple[Suite, BombEnv]:
    suite = get_suite(name)
    env = suite.make_env("place_stone")
    assert isinstance(env, BombEnv)
    return suite, env


def _shoot(
    suite: Suite, env: BombEnv, task: str, partition: str, index: int, moments: Sequence[int]
) -> list[dict[str, Any]]:
    """Both cameras' pictures after so many actions of the oracle."""
    key, oracle, shots = suite.episode(task, partition, index), suite.oracle(env), []
    observation, _ = env.reset(options={"episode": key})
    state = oracle.reset(key)
    for step in range(max(moments) + 1):
        if step in moments:
            shots.append(dict(observation["images"]))
        observation = env.step(oracle.act([observation], [state])[0])[0]
    return shots


if __name__ == "__main__":
    main()
