"""The 41 tasks, one file each, in the order of the protocol."""

from __future__ import annotations

from importlib import import_module

from ..protocol import HandTask

NAMES = (
    "close_jar",
    "push_buttons",
    "stack_blocks",
    "open_drawer",
    "sweep_to_dustpan_of_size",
    "put_item_in_drawer",
    "reach_and_drag",
    "turn_tap",
    "slide_block_to_color_target",
    "put_groceries_in_cupboard",
    "place_shape_in_shape_sorter",
    "put_money_in_safe",
    "place_cups",
    "place_wine_at_rack_location",
    "light_bulb_in",
    "insert_onto_square_peg",
    "meat_off_grill",
    "stack_cups",
    "put_toilet_roll_on_stand",
    "put_knife_on_chopping_board",
    "close_fridge",
    "close_microwave",
    "close_laptop_lid",
    "phone_on_base",
    "toilet_seat_down",
    "lamp_off",
    "lamp_on",
    "put_books_on_bookshelf",
    "put_umbrella_in_umbrella_stand",
    "open_grill",
    "put_rubbish_in_bin",
    "take_usb_out_of_computer",
    "take_lid_off_saucepan",
    "take_plate_off_colored_dish_rack",
    "basketball_in_hoop",
    "scoop_with_spatula",
    "straighten_rope",
    "turn_oven_on",
    "beat_the_buzz",
    "water_plants",
    "unplug_charger",
)


def _load(name: str) -> HandTask:
    found: HandTask = getattr(import_module(f"{__name__}.{name}"), name)
    return found


TASKS: dict[str, HandTask] = {name: _load(name) for name in NAMES}
