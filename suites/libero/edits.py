"""What may be off about a LIBERO scene, applied to its MuJoCo model; used by `world`, in the environment's interpreter.

Changes are plain data, as `axes.py` makes them from a perturbation. Whatever is changed about the model is put back
before the next episode, so that an episode without changes is the original's to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mujoco
import numpy as np

Array = Any
CAMERA = "agentview"
TABLES = ("table_texture", "desk", "living_room_table")  # materials; where there is none, things stand on the floor
FLOOR = "floorplane"
AROUND = ("walls_mat", FLOOR, "living_room", "kitchen_background")
DIRECTIONS = 12  # in which a thing may go that starts elsewhere
CLEAR_M = 0.004
_KEPT = (
    *("cam_pos", "cam_quat", "cam_fovy", "light_pos", "light_dir", "light_ambient", "light_diffuse", "light_specular"),
    *("light_castshadow", "mat_specular", "mat_shininess", "mat_reflectance"),
    *("body_mass", "body_inertia", "geom_friction", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"),
)
_HEADLIGHT = ("ambient", "diffuse", "specular")


class Neutral:
    """The model as it was made, to be put back."""

    def __init__(self, env: Any) -> None:
        self.model = env.sim.model._model
        self.table_m = float(env.workspace_offset[2])  # how high things stand
        self.arrays = {name: getattr(self.model, name).copy() for name in _KEPT}
        self.headlight = {name: getattr(self.model.vis.headlight, name).copy() for name in _HEADLIGHT}
        self.textures: dict[int, Array] = {}

    def restore(self, context: Any) -> None:
        for name, value in self.arrays.items():
            getattr(self.model, name)[:] = value
        for name, value in self.headlight.items():
            getattr(self.model.vis.headlight, name)[:] = value
        for texture, pixels in self.textures.items():
            _pixels(self.model, texture)[:] = pixels
            _upload(self.model, context, texture)
        self.textures.clear()


def apply(neutral: Neutral, changes: Mapping[str, Any], context: Any) -> None:
    """Change what is seen and what things weigh; where things start is `moved`."""
    model = neutral.model
    _camera(model, changes.get("camera") or {}, neutral.table_m)
    _light(model, changes.get("light") or {})
    for part, materials in (("table", _table(model)), ("background", _background(model))):
        look = changes.get(part) or {}
        if "pattern" in look:
            _paint(neutral, materials, partial(pattern, int(look["pattern"])), context)
        if "colour" in look:
            _paint(neutral, materials, partial(plain, look["colour"]), context)
    if "specular" in changes:
        seen = np.unique(model.geom_matid[model.geom_matid >= 0])
        model.mat_specular[seen] = np.maximum(model.mat_specular[seen], changes["specular"])
        model.mat_shininess[seen] = np.maximum(model.mat_shininess[seen], changes["specular"])
    _weigh(model, changes)


def _camera(model: Any, change: Mapping[str, float], table_m: float) -> None:
    """Turn the camera about what it looks at, move it, and give it another lens."""
    if not change:
        return
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, CAMERA)
    position, matrix = model.cam_pos[camera].copy(), _matrix(model.cam_quat[camera])
    sight, right = -matrix[:, 2], matrix[:, 0]
    at = position + sight * (position[2] - table_m) / max(-sight[2], 0.1)
    turn = _about([0, 0, 1], change.get("yaw", 0.0)) @ _about(right, change.get("pitch", 0.0))
    matrix = turn @ matrix
    position = at + change.get("distance", 1.0) * (turn @ (position - at))
    position += change.get("shift", 0.0) * right + np.array([0.0, 0.0, change.get("lift", 0.0)])
    matrix = _about(-matrix[:, 2], change.get("roll", 0.0)) @ matrix
    model.cam_pos[camera] = position
    mujoco.mju_mat2Quat(model.cam_quat[camera], np.ascontiguousarray(matrix).ravel())
    model.cam_fovy[camera] *= change.get("fov", 1.0)


def _light(model: Any, change: Mapping[str, Any]) -> None:
    if not change:
        return
    turn = _about([0, 0, 1], change.get("azimuth", 0.0))
    model.light_pos[:] = model.light_pos @ turn.T
    model.light_dir[:] = model.light_dir @ turn.T
    head = model.vis.headlight
    share = change.get("shadow", 0.0)
    if share:  # the light that comes from the camera and lights every side comes from the lamps instead
        given = share * (np.asarray(head.ambient) + np.asarray(head.diffuse))
        head.ambient[:] *= 1 - share
        head.diffuse[:] *= 1 - share
        model.light_diffuse[0] += given
        model.light_castshadow[0] = True
    factor = change.get("brightness", 1.0) * np.asarray(change.get("colour", (1.0, 1.0, 1.0)))
    for part in (model.light_ambient, model.light_diffuse, model.light_specular):
        part[:] *= factor
    for name in _HEADLIGHT:
        getattr(head, name)[:] *= factor


def _weigh(model: Any, changes: Mapping[str, Any]) -> None:
    free = _free_bodies(model)
    if "friction" in changes:  # of two surfaces the rougher one counts: the fingers' too, or nothing would slip
        fingers = [b for b in range(model.nbody) if "finger" in _name(model, b)]
        model.geom_friction[np.isin(model.geom_bodyid, [*free, *fingers])] *= changes["friction"]
    if "mass" in changes:
        model.body_mass[free] *= changes["mass"]
        model.body_inertia[free] *= changes["mass"]
        mujoco.mj_setConst(model, mujoco.MjData(model))


# --- looks ------------------------------------------------------------------------------------------------------------


def _table(model: Any) -> list[int]:
    found = [_material(model, name) for name in TABLES]
    used = [material for material in found if material >= 0 and (model.geom_matid == material).any()]
    return used or [_material(model, FLOOR)]


def _background(model: Any) -> list[int]:
    around = [_material(model, name) for name in AROUND]
    return [material for material in around if material >= 0 and material not in _table(model)]


def _material(model: Any, name: str) -> int:
    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_MATERIAL, name))


def _paint(neutral: Neutral, materials: list[int], draw: Callable[[int, int], Array], context: Any) -> None:
    """Other pixels for the textures of these materials; which texture a material has is fixed once it was drawn."""
    model = neutral.model
    textures = {int(texture) for material in materials for texture in model.mat_texid[material] if texture >= 0}
    for texture in sorted(textures):
        pixels = _pixels(model, texture)
        neutral.textures.setdefault(texture, pixels.copy())
        pixels[..., :3] = draw(pixels.shape[0], pixels.shape[1])
        _upload(model, context, texture)


def _pixels(model: Any, texture: int) -> Array:
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    channels, start = int(model.tex_nchannel[texture]), int(model.tex_adr[texture])
    return model.tex_data[start : start + height * width * channels].reshape(height, width, channels)


def _upload(model: Any, context: Any, texture: int) -> None:
    context.gl_ctx.make_current()
    mujoco.mjr_uploadTexture(model, context.con, texture)


def plain(colour: Any, height: int, width: int) -> Array:
    return np.broadcast_to((255 * np.asarray(colour)).astype(np.uint8), (height, width, 3))


def pattern(number: int, height: int, width: int) -> Array:
    """One of eight pictures that tables do not have: checks, stripes, dots, bricks, waves, grain."""
    y, x = np.mgrid[0 : 1 : 1j * height, 0 : 1 : 1j * width]
    kinds = (
        ((x * 16).astype(int) + (y * 16).astype(int)) % 2,
        (x * 24).astype(int) % 2,
        ((x + y) * 16).astype(int) % 2,
        ((x * 14 % 1 - 0.5) ** 2 + (y * 14 % 1 - 0.5) ** 2 < 0.08).astype(int),
        ((y * 20 % 1 < 0.12) | ((x * 10 + 0.5 * ((y * 20).astype(int) % 2)) % 1 < 0.06)).astype(int),
        0.5 + 0.5 * np.sin(30 * x + 6 * np.sin(9 * y)),
        0.5 + 0.5 * np.sin(180 * y + 8 * np.sin(11 * x) * np.sin(7 * y)),
        np.zeros_like(x),
    )
    colours = (
        ((205, 200, 190), (70, 75, 85)),
        ((225, 220, 205), (120, 60, 50)),
        ((60, 90, 120), (170, 190, 205)),
        ((200, 205, 195), (60, 100, 70)),
        ((150, 80, 60), (205, 195, 180)),
        ((215, 210, 205), (110, 105, 115)),
        ((110, 75, 45), (160, 115, 75)),
        ((60, 62, 66), (60, 62, 66)),
    )
    share = np.asarray(kinds[number - 1], dtype=float)[..., None]
    low, high = (np.array(colour, dtype=float) for colour in colours[number - 1])
    return (low + (high - low) * share).astype(np.uint8)


# --- where things start -----------------------------------------------------------------------------------------------


def moved(env: Any, state: Array, changes: Mapping[str, Any]) -> Array:
    """The init state, with the robot or things elsewhere."""
    if not {"robot_start", "objects"} & set(changes):
        return state
    model = env.sim.model._model
    data = mujoco.MjData(model)
    data.qpos[:] = state[1 : 1 + model.nq]
    if "objects" in changes:
        change = changes["objects"]
        only = env.parsed_problem["goal_state"][0][1] if change.get("only_manipulated") else None
        _shift_things(env, model, data, change["distance"], change["seed"], only)
    if "robot_start" in changes:
        _shift_hand(env, model, data, changes["robot_start"])
    return np.concatenate([state[:1], data.qpos, state[1 + model.nq :]])


def _shift_things(env: Any, model: Any, data: Any, distance: float, seed: int, only: str | None) -> None:
    """Each group of things that touch goes in a direction of its own where nothing is in the way, or stays."""
    rng = np.random.default_rng(seed)
    joints = {name: model.jnt_qposadr[_joint(model, thing.joints[-1])] for name, thing in env.objects_dict.items()}
    bodies = {int(model.body_rootid[env.obj_body_id[name]]): name for name in joints}
    for group in _groups(model, data, bodies):
        start, before = rng.uniform(0, 2 * math.pi), data.qpos.copy()
        if only is not None and only not in group:
            continue
        for number in range(DIRECTIONS):
            angle = start + 2 * math.pi * number / DIRECTIONS
            for name in group:
                data.qpos[joints[name] : joints[name] + 2] += distance * np.array([math.cos(angle), math.sin(angle)])
            if not _collides(model, data, {body for body, name in bodies.items() if name in group}):
                break
            data.qpos[:] = before


def _groups(model: Any, data: Any, bodies: dict[int, str]) -> list[list[str]]:
    """Things that touch each other, apart from those that touch a fixture: what stands in a drawer stays there."""
    mujoco.mj_forward(model, data)
    together = {name: {name} for name in bodies.values()}
    fixed: set[str] = set()
    for a, b in _contacts(model, data):
        names = [bodies[body] for body in (a, b) if body in bodies]
        if len(names) == 2:
            merged = together[names[0]] | together[names[1]]
            for name in merged:
                together[name] = merged
        elif names and not _is_ground(model, b if a in bodies else a):
            fixed.add(names[0])
    unique = {tuple(sorted(group)) for group in map(frozenset, together.values()) if not group & fixed}
    return [list(group) for group in sorted(unique)]


def _collides(model: Any, data: Any, group: set[int]) -> bool:
    mujoco.mj_forward(model, data)
    for a, b in _contacts(model, data, CLEAR_M):
        if (a in group) != (b in group) and not _is_ground(model, b if a in group else a):
            return True
    return False


def _contacts(model: Any, data: Any, margin: float = 0.0) -> list[tuple[int, int]]:
    found = []
    for contact in data.contact[: data.ncon]:
        a, b = (int(model.body_rootid[model.geom_bodyid[geom]]) for geom in contact.geom)
        if contact.dist < margin:
            found.append((a, b))
    return found


def _is_ground(model: Any, root: int) -> bool:
    return root == 0 or "table" in _name(model, root) or "floor" in _name(model, root)


def _name(model: Any, body: int) -> str:
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or ""


def _joint(model: Any, name: str) -> int:
    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name))


def _shift_hand(env: Any, model: Any, data: Any, off: Array, steps: int = 100) -> None:
    """Joint angles that put the hand elsewhere, turned as it was."""
    robot = env.robots[0]
    site = robot.eef_site_id
    dofs = [int(model.jnt_dofadr[_joint(model, name)]) for name in robot.robot_joints]
    places = [int(model.jnt_qposadr[_joint(model, name)]) for name in robot.robot_joints]
    mujoco.mj_forward(model, data)
    goal, turned = data.site_xpos[site] + np.asarray(off), data.site_xmat[site].reshape(3, 3).copy()
    jacobian = np.zeros((6, model.nv))
    for _ in range(steps):
        mujoco.mj_forward(model, data)
        quaternion, angle = np.zeros(4), np.zeros(3)
        mujoco.mju_mat2Quat(quaternion, (turned @ data.site_xmat[site].reshape(3, 3).T).ravel())
        mujoco.mju_quat2Vel(angle, quaternion, 1.0)
        error = np.concatenate([goal - data.site_xpos[site], angle])
        if np.linalg.norm(error) < 1e-4:
            break
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
        part = jacobian[:, dofs]
        data.qpos[places] += part.T @ np.linalg.solve(part @ part.T + 1e-4 * np.eye(6), error)


# --- geometry ---------------------------------------------------------------------------------------------------------


def _free_bodies(model: Any) -> Array:
    joints = model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)
    roots = np.unique(model.body_rootid[model.jnt_bodyid[joints]])
    return np.flatnonzero(np.isin(model.body_rootid, roots))


def _matrix(quaternion: Array) -> Array:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _about(axis: Any, degrees: float) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, np.asarray(axis, dtype=float), math.radians(degrees))
    return _matrix(quaternion)
