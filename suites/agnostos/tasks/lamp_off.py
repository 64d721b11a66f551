"""Press a lamp's button to turn it off."""

from __future__ import annotations

from ..lamp import lamp
from ..protocol import Draw, Instance, task


@task("unseen_level1")
def lamp_off(draw: Draw) -> Instance:
    """A lamp that shines."""
    return lamp(draw, "turn off the light", lit=True)
