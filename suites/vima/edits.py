"""What may be changed about an episode's table: the kit's edits, and those of cameras, textures and tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_vla.kit import edits
from pytest_vla.kit.layout import Spot

from .kit.scene import Thing


@dataclass(frozen=True, slots=True)
class CameraEdit(edits.CameraEdit):
    """A camera that is not quite where it should be. From a kilometre away only the zoom changes how much it sees."""

    zoom: float = 1.0


IN_PLACE = CameraEdit()


@dataclass(frozen=True, slots=True)
class SceneEdits(edits.SceneEdits):
    """What `reset(options={"edits": edits, ...})` changes; the task, its goals and its prompt stay as drawn."""

    camera: CameraEdit = IN_PLACE
    specular: float = 0.0
    """Added to how much everything shines."""
    table_texture: str | None = None
    background: str | None = None
    """The texture of the floor around the table."""
    object_textures: Mapping[str, str] = field(default_factory=dict)
    """Texture by label, in place of the drawn one (in the world, not in the prompt)."""
    goals_follow: bool = False
    """Whether a goal goes with the shift of what it is about; else it stays where it was drawn."""
    distractors: tuple[Thing, ...] = ()
    tool_start: Spot | None = None


NEUTRAL = SceneEdits()
