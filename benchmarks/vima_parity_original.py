"""The original's half of `vima_parity`: a script for the interpreter of the environment `vima_upstream`.

Arguments: the checkout, the suite's world.py, how many episodes of each task, and the file for the answers.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

L1, L3, L4 = "placement_generalization", "novel_object_generalization", "novel_task_generalization"
KEYS = ("possible_dragged_obj", "possible_base_obj", "possible_dragged_obj_texture", "possible_base_obj_texture")
UP = np.array([0, 0, 0, 1], np.float32)


def main(root: str, world_file: str, count: int, out: str) -> None:
    spec: Any = importlib.util.spec_from_file_location("world", world_file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def ask(task: str, question: Callable[..., Any], *more: Any) -> Any:
        world = module.World(task, root=root)
        try:
            return question(world, *more)
        finally:
            world.close()  # the original works as the only client of PyBullet in a process

    found: dict[str, Any] = {}
    found.update(ask("sweep_without_exceeding", sweeps, count))
    found["sweep_without_exceeding"] = ask("sweep_without_exceeding", experts, L1, count)
    found["sweep_without_touching"] = ask("sweep_without_touching", experts, L4, count)
    found["follow_order"] = ask("follow_order", beside_the_pile, count)
    found["defaults"] = ask("rotate", defaults)
    found.update(ask("novel_adj", novel, count))
    found["noun_bases"] = ask("novel_adj_and_noun", nouns, 2 * count)
    found["scene_base_like"] = ask("scene_understanding", scenes, 2 * count)
    found["same_shape_texture"] = ask("same_shape", same, count)
    found["rearrange_repeats"] = ask("rearrange", rearranged, 2 * count)
    with open(out, "w") as file:
        json.dump(found, file)


def push(env: Any, start: Any, end: Any) -> Any:
    poses = {"pose0_rotation": UP, "pose1_rotation": UP}
    spots = {"pose0_position": np.asarray(start, np.float32), "pose1_position": np.asarray(end, np.float32)}
    return env.step({**poses, **spots})


def sweeps(world: Any, count: int) -> dict[str, Any]:
    import pybullet as p

    rng, found, short, seed = np.random.default_rng(0), {}, [], 0
    for offset in (0, 5, -5):
        moved = 0
        for _ in range(10):
            seed += 1
            world.reset(seed, {"partition": L1})
            block, *others = world.env.obj_ids["rigid"]
            for other in others:
                p.resetBasePositionAndOrientation(other, (2.0 + other, 2.0, 0.015), (0, 0, 0, 1))
            spot, yaw, angle = (0.62, rng.uniform(-0.2, 0.2)), rng.uniform(0, 2 * math.pi), rng.uniform(-0.6, 0.6)
            p.resetBasePositionAndOrientation(block, (*spot, 0.015), p.getQuaternionFromEuler((0, 0, yaw)))
            ahead = np.array([-math.cos(angle), math.sin(angle)])
            end = np.asarray(spot) + 0.15 * ahead
            push(world.env, np.asarray(spot) + offset / 1000 * ahead, end)
            left = float((end - np.asarray(p.getBasePositionAndOrientation(block)[0][:2])) @ ahead)
            moved += left < 0.08
            short += [1000 * left] if left < 0.08 else []
        found[f"push_{offset}mm"] = [moved, 10]
    yaws, gaps = set(), []
    for seed in range(4 * count):
        world.reset(1000 + seed, {"partition": L1})
        poses = [p.getBasePositionAndOrientation(body) for body in world.env.obj_ids["rigid"]]
        yaws |= {round(p.getEulerFromQuaternion(pose[1])[2], 3) for pose in poses}
        gaps += [math.dist(a[0][:2], b[0][:2]) for k, a in enumerate(poses) for b in poses[:k]]
        task = world.env.task
        if len(task.goals) > task._target_num:
            rules = judged(world, task, p)
    return {**found, **rules, "short_mm": round(float(np.median(short)), 1), "yaw_random": len(yaws) > 10,
            "crowded": min(gaps) < 0.035}  # fmt: skip


def judged(world: Any, task: Any, p: Any) -> dict[str, Any]:
    """Blocks put where they are to be judged, one rule after the other."""
    targets = [goal[0][0][0] for goal in task.goals]
    zone = task.goals[0][6][1][0][0][0]
    home = {body: p.getBasePositionAndOrientation(body) for body in world.env.obj_ids["rigid"]}

    def put(body: int, x: float, y: float) -> None:
        p.resetBasePositionAndOrientation(body, (x, y, 0.014), (0, 0, 0, 1))

    stranger = next(iter(task.distractors_pts))
    put(stranger, 0.8, 0.3)
    task.update_goals()
    off = bool(task.check_success().failure)
    p.resetBasePositionAndOrientation(stranger, *home[stranger])
    for body in targets[: task._target_num]:
        put(body, zone[0], zone[1])
        task.update_goals()
        p.resetBasePositionAndOrientation(body, *home[body])
    latched = bool(task.check_success().success)
    put(targets[-1], 0.8, 0.3)
    return {"distractor_off": off, "latched": latched, "target_off": bool(task.check_success().success)}


def experts(world: Any, partition: str, count: int) -> list[int]:
    solved = 0
    for seed in range(count):
        world.reset(5000 + seed, {"partition": partition})
        for _ in range(world.env.task.oracle_max_steps + 2):
            try:
                _, over, info = world.step(world.oracle())
            except RuntimeError:
                break
            if over:
                solved += info["success"]
                break
    return [solved, count]


def beside_the_pile(world: Any, count: int) -> list[int]:
    import pybullet as p

    rng, met, tried = np.random.default_rng(0), 0, 0
    for seed in range(count):
        world.reset(seed, {"partition": L1})
        body, goal = world.env.task.goals[0][0][0][0], world.env.task.goals[0][2][0][0]
        if name_of(world, body) == "block":
            continue
        action, angle = world.oracle(), rng.uniform(0, 2 * math.pi)
        by_m = rng.uniform(0.04, 0.07) * np.array([math.cos(angle), math.sin(angle)])
        action["pose1_position"] = (action["pose1_position"] + by_m).astype(np.float32)
        world.step(action)
        met += math.dist(p.getBasePositionAndOrientation(body)[0][:2], goal[:2]) < 0.1
        tried += 1
    return [met, tried]


def name_of(world: Any, body: int) -> str:
    return str(world.env.obj_id_reverse_mapping[body]["obj_name"])


def texture_of(world: Any, body: int) -> str:
    return str(world.env.obj_id_reverse_mapping[body]["texture_name"])


def defaults(world: Any) -> dict[str, Any]:
    from vima_bench.tasks import ALL_TASKS

    found = {}
    for name, kind in ALL_TASKS.items():
        task = kind()
        lists = {key: getattr(task, key, None) or [] for key in KEYS}
        each = {key: value if isinstance(value, list) else [value] for key, value in lists.items()}
        found[name.split("/")[1]] = {key: sorted(e.value.name for e in value) for key, value in each.items()}
    return found


def novel(world: Any, count: int) -> dict[str, Any]:
    import vima_bench.tasks.task_suite.novel_concept_grounding.novel_adj as module

    made, original = [], module.get_urdf_path

    def recorded(*args: Any, **kwargs: Any) -> Any:
        made.append(np.asarray(kwargs["scaling"], float).tolist())
        return original(*args, **kwargs)

    module.get_urdf_path = recorded
    different, one = 0, True
    for seed in range(count):
        made.clear()
        world.reset(seed, {"partition": L1})
        shown = [world.env.task.placeholders[f"demo_blicker_obj_{n}"] for n in (1, 2, 3)]
        different += len({each.name for each in shown}) == 3
        one &= made[0] == made[2] == made[4]  # of each example the one with more, then the one with less
    module.get_urdf_path = original
    return {"novel_adj_different": [different, count], "novel_adj_one_height": one}


def nouns(world: Any, count: int) -> list[int]:
    with_base = 0
    for seed in range(count):
        world.reset(seed, {"partition": L4})
        extra = [body for body, _ in world.env.task.distractors[1:]]
        with_base += any(body in world.env.obj_ids["fixed"] for body in extra)
    return [with_base, count]


def scenes(world: Any, count: int) -> list[int]:
    like = 0
    for seed in range(count):
        world.reset(seed, {"partition": L3})
        like += world.env.task.distractors[0][0] in world.env.obj_ids["fixed"]
    return [like, count]


def same(world: Any, count: int) -> list[int]:
    shared = 0
    for seed in range(count):
        world.reset(seed, {"partition": L1})
        targets = {texture_of(world, goal[0][0][0]) for goal in world.env.task.goals}
        shared |= texture_of(world, world.env.task.distractors[0][0]) in targets
    return [int(shared), 1]


def rearranged(world: Any, count: int) -> list[int]:
    repeats = 0
    for seed in range(count):
        world.reset(seed, {"partition": L1})
        kinds = [(name_of(world, body), texture_of(world, body)) for body, _ in world.env.task.dragged]
        repeats += len(set(kinds)) < len(kinds)
    return [repeats, count]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
    sys.stdout.flush()
