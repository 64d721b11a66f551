"""What both sides of `benchmarks.inference` share: the observations and the model. Needs numpy and torch alone."""

from __future__ import annotations

import copy
import itertools
import os
import sys
import time
from typing import Any

import numpy as np

SHAPES = {"2x224": (2, 224), "1x256": (1, 256)}
FRAMES = "INFERENCE_FRAMES"  # the variable that names the file with the frames of simulators


def observations() -> dict[str, dict[str, Any]]:
    """One of every kind: drawn here, and frames of simulators where there is a file of them."""
    found = {shape: observation(shape) for shape in SHAPES}
    if FRAMES in os.environ:
        with np.load(os.environ[FRAMES]) as frames:
            for name, image in frames.items():
                suite, _, camera = name.partition("/")
                kind = found.setdefault(suite, {"images": {}, "states": np.zeros(8, np.float32)})
                kind["images"][camera] = image
    return found


def observation(shape: str, seed: int = 0) -> dict[str, Any]:
    """Images smooth with a few objects under a noise no simulator has: PNG takes longer on it than on a frame."""
    count, size = SHAPES[shape]
    rng = np.random.default_rng(seed)
    images = {}
    for name in ("front", "wrist")[:count]:
        rows, columns = np.mgrid[0:size, 0:size]
        image = np.stack([rows * 0.6, columns * 0.5, (rows + columns) * 0.3], -1)
        for _ in range(6):
            top, left = rng.integers(0, size - 40, 2)
            image[top : top + 40, left : left + 40] = rng.integers(0, 255, 3)
        images[name] = np.clip(image + rng.normal(0, 2, image.shape), 0, 255).astype(np.uint8)
    return {"images": images, "states": np.zeros(8, np.float32)}


class Model:
    """`none` answers at once, `cnn` is a small convolutional network on all images at half their size."""

    def __init__(self, kind: str) -> None:
        self.network: Any = None
        if kind == "cnn":
            import torch

            torch.set_num_threads(1)  # on every side: threads that wait for each other measure the machine's load
            torch.manual_seed(0)
            self.network = torch.nn.Sequential(
                torch.nn.Conv2d(3, 32, 8, 4),
                torch.nn.ReLU(),
                torch.nn.Conv2d(32, 64, 3, 2),
                torch.nn.ReLU(),
                torch.nn.AdaptiveAvgPool2d(2),
                torch.nn.Flatten(),
                torch.nn.Linear(256, 7),
            ).eval()

    def act(self, observations: list[dict[str, Any]]) -> list[Any]:
        if self.network is None:
            return [np.zeros(7, np.float32) for _ in observations]
        import torch

        with torch.inference_mode():
            images = np.stack([image[::2, ::2] for o in observations for image in o["images"].values()])
            batch = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
            actions = self.network(batch).reshape(len(observations), -1, 7).mean(1)
            return list(actions.numpy())


def run_client(step: Any) -> None:
    """Be ready; at each `SECONDS SHAPE ...` on stdin step for so long and print how it went: actions, median seconds of
    a step, seconds in all. `step` gets an observation and the rest of the line, and says how many actions it got."""
    kinds = observations()
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, shape, *rest = line.split()
        one, times, actions = kinds[shape], [], 0
        start = time.perf_counter()
        while time.perf_counter() - start < float(seconds):
            before = time.perf_counter()
            actions += step(one, *rest)
            times.append(time.perf_counter() - before)
        print(actions, float(np.median(times)), time.perf_counter() - start, flush=True)
    os._exit(0)


def offline() -> None:
    """The model alone, called with a mix of batch sizes: `8,8,7,8,...`, with other images in each row.

    Its allocator is told what that of our server is: what remains between them is the serving.
    """
    from pytest_vla.inference.heap import keep_freed_memory

    keep_freed_memory()
    model, turn = Model("cnn"), itertools.count()
    copies: dict[int, list[dict[str, Any]]] = {}

    def step(one: dict[str, Any], batches: str) -> int:
        if id(one) not in copies:
            copies[id(one)] = [copy.deepcopy(one) for _ in range(64)]
        sizes = batches.split(",")
        number = next(turn)
        first = 8 * number % 64
        return len(model.act(copies[id(one)][first : first + int(sizes[number % len(sizes)])]))

    run_client(step)


if __name__ == "__main__":
    offline()
