"""What LIBERO's expert knows of the scene: where things and fixtures are, what holds, and how high it all stands."""

from __future__ import annotations

import importlib
from typing import Any

import mujoco
import numpy as np

relief: Any = importlib.import_module("relief")  # beside this file, which is no package

Array = Any
FLAT_M = 0.02  # no higher than a plate


class Scene:
    """Answers, from the simulation as it is now."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.model, self.data = env.sim.model._model, env.sim.data._data

    def holds(self, goal: list[str]) -> bool:
        return bool(self.env._eval_predicate(goal))

    def place(self, target: str) -> Array:
        """Where the thing's own origin belongs."""
        if target in self.env.object_sites_dict:
            return np.array(self.env.sim.data.get_site_xpos(target))
        return np.array(self.data.xpos[self.env.obj_body_id[target]])

    def joint_of(self, name: str) -> int:
        found = self.env.get_object(name)
        return int(mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, found.joints[0]))

    def handle(self, joint: int, out: Array) -> tuple[Array, float]:
        """The middle of what is furthest out of a drawer, and the height of the furniture it is in."""
        body = int(self.model.jnt_bodyid[joint])
        geoms = [g for g in self.of(body) if not self.model.geom_group[g]]
        own = [g for g in geoms if self.model.geom_bodyid[g] == body]
        reach = {g: float(self.data.geom_xpos[g] @ out) for g in own}
        furthest = max(reach.values())
        bar = [g for g in own if reach[g] > furthest - 0.006]
        middle = np.mean([self.data.geom_xpos[g] for g in bar], axis=0)
        return middle, max(highest(self.model, self.data, g) for g in geoms)

    def is_flat(self, body: int) -> bool:
        geoms = [g for g in self.of(body) if self.model.geom_group[g] == 0]
        return max(highest(self.model, self.data, g) for g in geoms) - self.bottom(body) < FLAT_M

    def is_on_table(self, target: str) -> bool:
        site = self.env.object_sites_dict.get(target)
        return site is not None and site.parent_name is None

    def is_within(self, body: int, target: str) -> bool:
        return bool(np.linalg.norm((self.data.xpos[body] - self.place(target))[:2]) < 0.015)

    def is_drawer(self, target: str) -> bool:
        site = self.env.object_sites_dict.get(target)
        return bool(site is not None and site.parent_name in self.env.fixtures_dict and site.joints)

    def may_tip_over(self, target: str) -> bool:
        """Fingers that open inside a basket would lift it."""
        site = self.env.object_sites_dict.get(target)
        return site is not None and site.parent_name in self.env.objects_dict

    def of(self, body: int) -> set[int]:
        """The geoms of a body and of what hangs on it."""
        root = self.model.body_rootid
        return {g for g in range(self.model.ngeom) if root[self.model.geom_bodyid[g]] == root[body]}

    def robot(self) -> set[int]:
        names = ("robot0_", "gripper0_", "mount0_")
        bodies = {b for b in range(self.model.nbody) if (name_of(self.model, "body", b) or "").startswith(names)}
        return {g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] in bodies}

    def bottom(self, body: int) -> float:
        """The lowest point of a thing."""
        return min(lowest(self.model, self.data, g) for g in self.of(body) if self.model.geom_group[g] == 0)

    def relief(self, at: Array, body: int, span: float) -> Any:
        """How high things stand near a place, apart from the robot and from what it holds."""
        without = self.robot() | self.of(body)
        return relief.Relief(self.model, self.data, at, set(), without, span=span, grid=max(0.01, span / 10))


def lowest(model: Any, data: Any, geom: int) -> float:
    """Of the box around a geom, which is the geom itself where it is a box."""
    centre, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    matrix = data.geom_xmat[geom].reshape(3, 3)
    return float((data.geom_xpos[geom] + matrix @ centre)[2] - np.abs(matrix[2]) @ half)


def highest(model: Any, data: Any, geom: int) -> float:
    centre, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    matrix = data.geom_xmat[geom].reshape(3, 3)
    return float((data.geom_xpos[geom] + matrix @ centre)[2] + np.abs(matrix[2]) @ half)


def name_of(model: Any, kind: str, number: int) -> str:
    return mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), number) or ""
