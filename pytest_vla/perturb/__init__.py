"""One vocabulary of perturbations for all suites: axes, values, and what applies them.

May import `episode` and `run`. Read `axes.py` first (every axis is one entry), then `wrapper.py` (how they act).
"""

from pytest_vla.perturb.axes import AXES, COLOURS, CONTRADICTION, add_axes, everywhere, resolve
from pytest_vla.perturb.axis import GROUPS, MAX_LEVEL, Axis, PerturbationError, steps
from pytest_vla.perturb.perturbation import Perturbation
from pytest_vla.perturb.scene import scene_edits
from pytest_vla.perturb.wrapper import PerturbedEnv, perturbed

__all__ = [
    "AXES",
    "COLOURS",
    "CONTRADICTION",
    "GROUPS",
    "MAX_LEVEL",
    "Axis",
    "Perturbation",
    "PerturbationError",
    "PerturbedEnv",
    "add_axes",
    "everywhere",
    "perturbed",
    "resolve",
    "scene_edits",
    "steps",
]
