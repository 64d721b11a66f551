"""The 41 tasks, one file each, in the order of the protocol."""

from __future__ import annotations

from importlib import import_module

from pytest_vla.kit.hand_env import HandTask

NAMES = (
    "close_jar",
    "push_buttons",
    "stack_blocks",
    "open_drawer",
    "sweep_to_dustpan_of_size",
    "turn_tap",
    "insert_onto_square_peg",
    "close_microwave",
    "close_laptop_lid",
    "phone_on_base",
    "toilet_seat_down",
    "lamp_off",
    "lamp_on",
    "put_rubbish_in_bin",
    "take_lid_off_saucepan",
    "straighten_rope",
    "beat_the_buzz",
    "water_plants",
)


def _load(name: str) -> HandTask:
    found: HandTask = getattr(import_module(f"{__name__}.{name}"), name)
    return found


TASKS: dict[str, HandTask] = {name: _load(name) for name in NAMES}
