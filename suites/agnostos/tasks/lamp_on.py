"""Press a lamp's button to turn it on."""

from __future__ import annotations

from ..lamp import lamp
from ..protocol import Draw, Instance, task


@task("unseen_level1")
def lamp_on(draw: Draw) -> Instance:
    """A lamp that is dark."""
    return lamp(draw, "turn on the light", lit=False)
