"""CALVIN's long-horizon protocol as data: which five tasks follow each other, and the scene that a chain starts from.

The 1,000 chains are not listed here. They are drawn by the rules of the original from the seeds of the original, so
that they are the original's; `SHA256` says so. A chain is drawn when it is asked for, with the others of its state.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

CHAINS = 1000
LENGTH = 5
SHA256 = "025fc26c9808baf85652f4f18ea9473e661b5825690a4a5901935575b0c165d7"
"""Of all chains with their scenes, as `fingerprint` writes them; computed from the published list."""

COLOURS = ("red", "blue", "pink")
DOORS = ("right", "left")
FNV_PRIME, FNV_BITS = 0x01000193, 32

State = Mapping[str, Any]
Rule = tuple[Mapping[str, Any], Mapping[str, Any]]
"""What must hold before a task, and what holds after it. A condition with several values holds at any of them."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Five tasks in a row, and the state in which the first one begins."""

    state: State
    tasks: tuple[str, ...]

    @property
    def scene(self) -> tuple[float, ...]:
        return scene_of(self.state)


# --- the rules --------------------------------------------------------------------------------------------------------


def _rules() -> Iterator[tuple[str, int, list[Rule]]]:
    """Every task with its category (no two tasks of a chain share one) and rules, in the original's order."""
    free: State = {"grasped": 0}
    for what in ("rotate", "push"):
        for colour in COLOURS:
            for side in DOORS:
                lying: State = {f"{colour}_block": "table"}
                yield f"{what}_{colour}_block_{side}", 1, [({**lying, **free}, lying)]
    yield "move_slider_left", 2, [({"slider": "right", **free}, {"slider": "left"})]
    yield "move_slider_right", 2, [({"slider": "left", **free}, {"slider": "right"})]
    yield "open_drawer", 3, [({"drawer": "closed", **free}, {"drawer": "open"})]
    yield "close_drawer", 3, [({"drawer": "open", **free}, {"drawer": "closed"})]
    for colour in COLOURS:
        block = f"{colour}_block"
        lifted: State = {block: "grasped", "grasped": 1}
        yield f"lift_{block}_table", 4, [({block: "table", **free}, lifted)]
        yield (
            f"lift_{block}_slider",
            5,
            [({block: f"slider_{side}", "slider": _other(side), **free}, lifted) for side in ("left", "right")],
        )
        yield f"lift_{block}_drawer", 6, [({block: "drawer", "drawer": "open", **free}, lifted)]
    yield from _putting_down()
    for lamp in ("lightbulb", "led"):
        yield f"turn_on_{lamp}", 8, [({lamp: 0, **free}, {lamp: 1})]
        yield f"turn_off_{lamp}", 8, [({lamp: 1, **free}, {lamp: 0})]
    yield "push_into_drawer", 9, [_pushed_in(colour) for colour in COLOURS]


def _putting_down() -> Iterator[tuple[str, int, list[Rule]]]:
    held: Mapping[str, State] = {colour: {f"{colour}_block": "grasped", "grasped": 1} for colour in COLOURS}
    free: State = {"grasped": 0}
    yield (
        "place_in_slider",
        7,
        [
            ({**held[colour], "slider": side}, {f"{colour}_block": f"slider_{side}", **free})
            for colour in COLOURS
            for side in DOORS
        ],
    )
    yield (
        "place_in_drawer",
        7,
        [({**held[colour], "drawer": "open"}, {f"{colour}_block": "drawer", **free}) for colour in COLOURS],
    )
    pairs = list(permutations(COLOURS, 2))
    stacked: list[State] = [{f"{top}_block": "stacked_top", f"{low}_block": "stacked_bottom"} for top, low in pairs]
    yield (
        "stack_block",
        10,
        [
            ({**held[top], f"{low}_block": "table"}, {**after, **free})
            for (top, low), after in zip(pairs, stacked, strict=True)
        ],
    )
    yield (
        "unstack_block",
        11,
        [
            ({**before, **free}, {f"{top}_block": "table", f"{low}_block": "table"})
            for (top, low), before in zip(pairs, stacked, strict=True)
        ],
    )


def _pushed_in(colour: str) -> Rule:
    """Only the one block on the table can be meant: the others are in the cabinet."""
    others = {f"{other}_block": ("slider_right", "slider_left") for other in COLOURS if other != colour}
    before: State = {f"{colour}_block": "table", **others, "drawer": "open", "grasped": 0}
    return before, {f"{colour}_block": "drawer", "grasped": 0}


def _other(side: str) -> str:
    return "right" if side == "left" else "left"


RULES = {name: rules for name, _, rules in _rules()}
CATEGORIES = {name: category for name, category, _ in _rules()}
TASKS = tuple(RULES)


def follow(state: State, task: str) -> list[State]:
    """The states that a task leads to."""
    return [{**state, **after} for before, after in RULES[task] if all(_is(state[k], v) for k, v in before.items())]


def _is(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, tuple) else bool(value == wanted)


def is_chain(state: State, tasks: Sequence[str]) -> bool:
    """Whether each task can be done after the one before, in one way only, and no two are of a kind."""
    if len({CATEGORIES[task] for task in tasks}) < len(tasks):
        return False
    for task in tasks:
        states = follow(state, task)
        if len(states) != 1:
            return False
        state = states[0]
    return True


# --- the draws --------------------------------------------------------------------------------------------------------


@cache
def initial_states() -> tuple[State, ...]:
    """The states that chains start from: one or two blocks on the table, at most one behind each side of the door."""
    places = ("table", "slider_right", "slider_left")
    values: Mapping[str, tuple[Any, ...]] = {
        "led": (0, 1),
        "lightbulb": (0, 1),
        "slider": DOORS,
        "drawer": ("closed", "open"),
        **{f"{colour}_block": places for colour in COLOURS},
        "grasped": (0,),
    }
    found = (dict(zip(values, drawn, strict=True)) for drawn in product(*values.values()))
    return tuple(state for state in found if _is_start([state[f"{colour}_block"] for colour in COLOURS]))


def _is_start(places: Sequence[str]) -> bool:
    return places.count("table") in (1, 2) and all(places.count(f"slider_{side}") < 2 for side in DOORS)


@cache
def _order() -> tuple[tuple[int, int], ...]:
    """For each chain the number of its starting state and its number among those of that state."""
    counts = [len(part) for part in np.array_split(range(CHAINS), len(initial_states()))]
    pairs = [(state, number) for state, count in enumerate(counts) for number in range(count)]
    np.random.RandomState(0).shuffle(pairs)
    return tuple((state, number) for state, number in pairs)


@cache
def _of_state(number: int) -> tuple[tuple[str, ...], ...]:
    """The chains of a starting state: draws of five different tasks, from the state's own seed, that are chains."""
    state, rng = initial_states()[number], np.random.RandomState(number)
    count = sum(1 for each, _ in _order() if each == number)
    first = {task for task in TASKS if len(follow(state, task)) == 1}
    found: list[tuple[str, ...]] = []
    while len(found) < count:
        drawn = rng.permutation(len(TASKS))
        if TASKS[drawn[0]] in first:
            tasks = tuple(TASKS[place] for place in drawn[:LENGTH])
            if is_chain(state, tasks):
                found.append(tasks)
    return tuple(found)


def chain(index: int) -> Chain:
    """The chain of an episode; beyond the last one they start again."""
    state, number = _order()[index % CHAINS]
    return Chain(initial_states()[state], _of_state(state)[number])


def fingerprint() -> str:
    """Of all chains and their scenes, in order. All are drawn for it, which takes a minute or two."""
    rows = [[list(each.tasks), [round(value, 8) for value in each.scene]] for each in map(chain, range(CHAINS))]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


# --- the scenes -------------------------------------------------------------------------------------------------------

#: Where the arm is at the start of every chain: 6 numbers of the hand, opening, 7 joints, gripper.
ROBOT = (
    *(0.02586889, -0.2313129, 0.5712808, 3.09045411, -0.02908596, 1.50013585, 0.07999963),
    *(-1.21779124, 1.03987629, 2.11978254, -2.34205014, -0.87015899, 1.64119093, 0.55344928, 1.0),
)
ON_TABLE_M = ((5.00000896e-02, -1.20000177e-01, 4.59990009e-01), (2.29995412e-01, -1.19995140e-01, 4.59990010e-01))
IN_SLIDER_M = {
    "slider_left": (-2.40851662e-01, 9.24044687e-02, 4.60990009e-01),
    "slider_right": (7.03416330e-02, 9.24044687e-02, 4.60990009e-01),
}
YAW_RAD = (math.pi / 2 - math.pi / 8, math.pi / 2 + math.pi / 8)


def scene_of(state: State) -> tuple[float, ...]:
    """The 24 numbers of a scene: door, drawer, button, switch, bulb, led, and six of each block."""
    rng = np.random.RandomState(fnv1_32(f"dict_values({list(state.values())})"))
    table = [np.array(place) for place in ON_TABLE_M]
    rng.shuffle(table)
    scene = [0.28 * (state["slider"] == "left"), 0.22 * (state["drawer"] == "open"), 0.0]
    scene += [0.088 * state["lightbulb"], float(state["lightbulb"]), float(state["led"])]
    spare = {"red": 0, "blue": 1 if state["red_block"] == "table" else 0, "pink": 1}
    for colour in COLOURS:
        where = state[f"{colour}_block"]
        place = IN_SLIDER_M.get(where, tuple(table[spare[colour]].tolist()))
        scene += [*place, 0.0, 0.0, rng.uniform(*YAW_RAD)]
    return tuple(float(value) for value in scene)


def fnv1_32(text: str) -> int:
    """FNV-1 as pyhash has it, which the original seeds its scenes with: from 0, over the text in UTF-16.

    The usual FNV-1 begins at 0x811c9dc5 and reads UTF-8: with that, blocks lie elsewhere in 557 of the 1,000 chains.
    """
    value = 0
    for byte in text.encode("utf-16-le"):
        value = (value * FNV_PRIME) % (1 << FNV_BITS) ^ byte
    return value
