"""How fast the BOMB suite is: steps and pictures against the raw MuJoCo calls they need, CPU-seconds an episode.

The raw loop plays the same control signals through the same model from the same state, draws both cameras after each
action, and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pytest_vla.suites.bomb.cameras import IMAGE_PX
from pytest_vla.suites.bomb.env import BombEnv

import pytest_vla as vla
from pytest_vla.kit.mujoco_table import STEPS_PER_RAMP, MujocoTable
from pytest_vla.sim.mujoco import MujocoStage, backend, load_mujoco
from pytest_vla.sim.mujoco.stage import GlPainter

TARGET = {"raw_ratio": 0.8, "cpu_s_per_episode": 1.5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer episodes")
    count = 2 if parser.parse_args().quick else 8
    figures = measure(count)
    ok = figures["raw_ratio"] >= TARGET["raw_ratio"] and figures["cpu_s_per_episode"] <= TARGET["cpu_s_per_episode"]
    print(json.dumps({"name": "bomb", "renderer": backend(), **figures, "target": TARGET, "ok": ok}))


def measure(count: int) -> dict[str, float]:
    """The five tasks in turn, each side of a comparison right after the other."""
    suite = vla.get_suite("bomb")
    env: Any = suite.make_env("place_stone")
    oracle = suite.oracle(env)
    ours, raw, plain = [], [], []
    for index in range(-1, count):  # one round is for warming up
        for task in suite.tasks():
            key = suite.episode(task, "unperturbed", max(index, 0))
            actions = solve(suite, env, key)
            limit = cpu_seconds(raw_loop(env, key, actions))
            cpu = cpu_seconds(our_loop(env, key, actions))
            lazy = cpu_seconds(lambda key=key: vla.rollout(oracle, env, key))
            if index >= 0:
                ours.append(cpu / len(actions))
                raw.append(limit / len(actions))
                plain.append(lazy)
                line = f"raw {limit / len(actions) * 1e3:6.2f} ms, ours {cpu / len(actions) * 1e3:6.2f} ms an action"
                print(f"{key.id:30s} {line}; oracle episode {lazy:6.3f} s")
    longest = max(suite.step_limit(task) for task in suite.tasks())
    env.close()
    return {
        "raw_ratio": round(statistics.median(r / o for r, o in zip(raw, ours, strict=True)), 3),
        "ms_per_action_with_pictures": round(statistics.mean(ours) * 1e3, 3),
        "cpu_s_per_episode": round(statistics.mean(plain), 3),
        "cpu_s_longest_episode_with_pictures": round(statistics.mean(ours) * longest, 3),
    }


def solve(suite: Any, env: BombEnv, key: vla.EpisodeKey) -> list[Any]:
    """The oracle's actions."""
    oracle, actions = suite.oracle(env), []
    observation, _ = env.reset(options={"episode": key})
    state = oracle.reset(key)
    for _ in range(suite.step_limit(key.task)):
        actions.append(oracle.act([observation], [state])[0])
        observation = env.step(actions[-1])[0]
    return actions


def our_loop(env: BombEnv, key: vla.EpisodeKey, actions: list[Any]) -> Callable[[], None]:
    """Steps of the environment with both pictures of each observation looked at."""
    observation, _ = env.reset(options={"episode": key})
    dict(observation["images"])

    def run() -> None:
        for action in actions:
            dict(env.step(action)[0]["images"])

    return run


def raw_loop(env: BombEnv, key: vla.EpisodeKey, actions: list[Any]) -> Callable[[], None]:
    """The same physics and pictures by bare calls of the library."""
    mj = load_mujoco()
    observation, _ = env.reset(options={"episode": key})
    dict(observation["images"])
    table = env.world
    assert isinstance(table, MujocoTable)
    model, data, painter = table.world.model, table.world.data, painter_of(table.stage)
    signals = control_signals(table, actions)
    scene, context, view, option = painter._scene, painter._context, painter._view, painter._option
    pixels = np.empty((IMAGE_PX, IMAGE_PX, 3), np.uint8)
    cameras = []
    for number in range(2):
        camera = mj.MjvCamera()
        camera.type, camera.fixedcamid = mj.mjtCamera.mjCAMERA_FIXED, number
        cameras.append(camera)

    def run() -> None:
        for ramp in signals:
            for signal in ramp:
                data.ctrl[:] = signal
                mj.mj_step(model, data, STEPS_PER_RAMP)
            for camera in cameras:
                mj.mjv_updateScene(model, data, option, None, camera, mj.mjtCatBit.mjCAT_ALL.value, scene)
                mj.mjr_render(view, scene, context)
                mj.mjr_readPixels(pixels, None, view, context)

    return run


def painter_of(stage: MujocoStage) -> GlPainter:
    painter = stage._painter
    if not isinstance(painter, GlPainter):
        raise SystemExit("the comparison needs EGL or OSMesa: the ray caster has no raw counterpart in the library")
    return painter


def control_signals(table: MujocoTable, actions: list[Any]) -> list[list[Any]]:
    """What each action sends to the actuators, ramp by ramp."""
    point, signals = table._set_point, []
    for action in actions:
        points = list(table.gantry.ramps(point, action))
        signals.append([[*point[:3], point[3] / 2] for point in points])
        point = points[-1]
    return signals


def cpu_seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
