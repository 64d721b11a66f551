"""Press a lamp's button to turn it off."""

from __future__ import annotations

from pytest_vla.kit.hand_env import Draw, Instance, task

from ..lamp import lamp


@task("unseen_level1")
def lamp_off(draw: Draw) -> Instance:
    """A lamp that shines."""
    return lamp(draw, "turn off the light", lit=True)
