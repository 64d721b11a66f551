"""What may be off about a LIBERO scene, applied to its MuJoCo model; used by `world`, in the environment's interpreter."""
from __future__ import annotations
from typing import Any
import numpy as np

class Neutral:
    def __init__(self, sim: Any) -> None:
        pass
    def restore(self) -> None:
        pass
def moved(env, state, changes): return state
def apply(env, changes, context): pass
