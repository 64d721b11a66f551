"""Hunts as people type them: `pytest --vla-hunt` on a suite with planted causes, in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.hunt_effects import LEAST_FOUND, Figure, at_least_of, not_above
from pytest_vla.run import HuntRecord, read_run

SUITE = Path(__file__).with_name("planted_suite.py")
PLAIN = "-q -p no:hypothesispytest -p no:syrupy -p no:cacheprovider -p no:xdist"
PLANTS = {
    "an axis that breaks every scene": "yaw100own0",
    "60% of the scenes": "yaw60own0",
    "30% of the scenes": "yaw30own0",
    "50% beside 20% of failures of its own": "yaw50own20",
    "scenes with the object on the left": "yaw0own0left",
}
TIMES = {"50% beside 20% of failures of its own": 4}
"""Where luck has more to say, so many times as many hunts."""
HEALTHY = {"35% of failures of its own": "yaw0own35", "no failures": "yaw0own0"}


def typed(hunts: int, workers: int) -> Iterator[Figure]:
    """All plants, so many hunts each."""
    names = {**PLANTS, **HEALTHY}
    with ThreadPoolExecutor(workers) as pool:
        hunted = pool.map(lambda name: hunt_all(names[name], hunts * TIMES.get(name, 1)), names)
        runs = dict(zip(names, hunted, strict=True))
    for name in PLANTS:
        alone = sum(_names_yaw_alone(hunt) for hunt in runs[name])
        yield at_least_of(f"typed: yaw named alone, {name}", alone, len(runs[name]), LEAST_FOUND)
    told = sum(_is_left(hunt) for hunt in runs["scenes with the object on the left"])
    yield at_least_of("typed: and the side", told, hunts, LEAST_FOUND)
    for name in HEALTHY:
        yield not_above(f"typed: accused, {name}", sum(bool(hunt.causes) for hunt in runs[name]), hunts)


def hunt_all(plant: str, hunts: int) -> tuple[HuntRecord, ...]:
    """One process that hunts in so many tasks."""
    tasks = ",".join(f"{plant}-{number:02d}" for number in range(hunts))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(SUITE, folder / "test_planted.py")
        words = [sys.executable, "-m", "pytest", "test_planted.py", "--vla-policy=oracle", "--vla-hunt"]
        environment = {**os.environ, "PLANTED_TASKS": tasks, "PLANTED_SALT": "typed", "PYTEST_ADDOPTS": PLAIN}
        typed_words = [*words, "--vla-run-dir=run"]
        done = subprocess.run(typed_words, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return read_run(folder / "run").hunts


def _names_yaw_alone(hunt: HuntRecord) -> bool:
    """Once for each direction, and nothing else."""
    named = {cause.perturbation.partition("=")[0] for cause in hunt.causes}
    return named == {"camera.yaw"} and all("," not in cause.perturbation for cause in hunt.causes)


def _is_left(hunt: HuntRecord) -> bool:
    return any(cause.condition is not None and str(cause.condition) == "side = left" for cause in hunt.causes)
