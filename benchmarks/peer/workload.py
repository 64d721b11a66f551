"""What both sides of `benchmarks.inference` share: the observations and the model. Needs numpy and torch alone."""

from __future__ import annotations

import copy
import itertools
import mmap
import os
import sys
import time
from collections.abc import Iterable
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


def offline(moved: bool) -> None:
    """The model alone, called with a mix of batch sizes: `8,8,7,8,...`, with other images in each row.

    With `moved`, another process writes them before each call, as simulators do. Its allocator is told what that of our
    server is: what remains between them is the serving.
    """
    from pytest_vla.inference.heap import keep_freed_memory

    keep_freed_memory()
    model, turn = Model("cnn"), itertools.count()
    rows: dict[int, list[dict[str, Any]]] = {}
    writer = Writer(observations().values()) if moved else None

    def step(one: dict[str, Any], batches: str) -> int:
        sizes = batches.split(",")
        number = next(turn)
        size = int(sizes[number % len(sizes)])
        if writer is not None:
            return len(model.act(writer.rows(one, size)))
        if id(one) not in rows:
            rows[id(one)] = [copy.deepcopy(one) for _ in range(64)]
        first = 8 * number % 64
        return len(model.act(rows[id(one)][first : first + size]))

    run_client(step)


class Writer:
    """A process that writes observations to shared memory when it is asked to, and ends with the one that asks."""

    def __init__(self, kinds: Iterable[dict[str, Any]], most: int = 8) -> None:
        self._kinds = {_form(one): [_shared(one) for _ in range(most)] for one in kinds}
        orders, self._ask = os.pipe()
        self._done, answers = os.pipe()
        if os.fork() == 0:
            os.close(self._ask)
            own = {form: copy.deepcopy(rows) for form, rows in self._kinds.items()}
            while order := os.read(orders, 2):
                form = list(own)[order[0]]
                for row, source in zip(self._kinds[form][: order[1]], own[form], strict=False):
                    for name, image in source["images"].items():
                        np.copyto(row["images"][name], image)
                os.write(answers, b".")
            os._exit(0)
        os.close(orders)

    def rows(self, one: dict[str, Any], size: int) -> list[dict[str, Any]]:
        form = _form(one)
        os.write(self._ask, bytes([list(self._kinds).index(form), size]))
        os.read(self._done, 1)
        return self._kinds[form][:size]


def _form(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(image.shape for image in one["images"].values())


def _shared(one: dict[str, Any]) -> dict[str, Any]:
    images = {}
    for name, image in one["images"].items():
        images[name] = np.frombuffer(mmap.mmap(-1, image.size), np.uint8).reshape(image.shape)
        np.copyto(images[name], image)
    return {**one, "images": images}


if __name__ == "__main__":
    offline(moved=sys.argv[1:] == ["moved"])
