"""The rows themselves, one function a data set: what is drawn, what is asked, and the answer that follows from both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import pictures

Rng = np.random.Generator
Row = dict[str, Any]
Image = NDArray[np.uint8]

# --- openx: go to a dot that only the picture shows, in the way that only the words say ------------------------------

WAYS: Mapping[str, float] = {"reach toward": 1.0, "back away from": -1.0}
PACES: Mapping[str, float] = {"quickly": 1.0, "slowly": 0.5}
GOLDEN = np.pi * (3 - 5**0.5)
REACH = 2**0.5  # the largest an action can be


def openx(rng: Rng, dimensions: int) -> Row:
    x, y = rng.uniform(-1, 1, 2)
    way, pace = (list(table)[int(rng.integers(2))] for table in (WAYS, PACES))
    angles = GOLDEN * np.arange(dimensions)
    action = WAYS[way] * PACES[pace] * (np.cos(angles) * x + np.sin(angles) * y)

    def draw() -> Image:
        image = pictures.blank()
        half = pictures.SIDE / 2
        pictures.disc(image, half + 0.85 * half * x, half - 0.85 * half * y, 6, pictures.COLOURS["red"])
        return image

    return {
        "text_observation": f"{way} the red dot {pace}",
        "image_observation": draw,
        "action": action.astype(np.float32),
        "reward": 0.0,
        "is_last": False,
        "text_answer": "",
    }


# --- overcooked: each cook goes to the dish of his colour, takes it when beside it, and stays when there is none -----

COLUMNS, ROWS = 6, 5
NO_DISH = 0.5  # the chance that a cook has nothing to do
COOKS = (("blue", "cyan"), ("green", "yellow"))
MOVES: Mapping[str, list[int] | str] = {
    "north": [0, -1],
    "south": [0, 1],
    "east": [1, 0],
    "west": [-1, 0],
    "stay": [0, 0],
    "interact": "interact",
}


def overcooked(rng: Rng) -> Row:
    squares = [(int(n % COLUMNS), int(n // COLUMNS)) for n in rng.permutation(COLUMNS * ROWS)[:4]]
    things, actions = [], []
    for (cook, dish), at, goal in zip(COOKS, squares[:2], squares[2:], strict=True):
        things.append((*at, "square", pictures.COLOURS[cook]))
        busy = rng.uniform() >= NO_DISH
        if busy:
            things.append((*goal, "circle", pictures.COLOURS[dish]))
        actions.append(MOVES[_step(at, goal) if busy else "stay"])
    elapsed = round(float(rng.uniform(0, 60)), 1)
    return {
        "state": lambda: pictures.grid(COLUMNS, ROWS, things),
        "joint_action": json.dumps(actions),
        "reward": "0",
        "time_left": str(round(60 - elapsed, 1)),
        "time_elapsed": str(elapsed),
        "score": "0",
        "layout_name": "two_dishes",
        "trial_id": "0",
    }


def _step(at: tuple[int, int], goal: tuple[int, int]) -> str:
    across, down = goal[0] - at[0], goal[1] - at[1]
    if abs(across) + abs(down) == 1:
        return "interact"
    if abs(across) >= abs(down):
        return "east" if across > 0 else "west"
    return "south" if down > 0 else "north"


# --- piqa: a tool that can do it, and one that cannot ----------------------------------------------------------------

DEEDS: tuple[tuple[str, str, str], ...] = (
    ("cut a sheet of paper", "a pair of scissors", "a wet sponge"),
    ("dry a plate", "a cotton towel", "a bucket of water"),
    ("hammer a nail into a board", "a flat stone", "a feather pillow"),
    ("carry soup to the table", "a deep bowl", "a kitchen sieve"),
    ("light a dark cellar", "a torch", "a mirror alone"),
    ("keep milk cold", "a bag of ice", "a woollen blanket over a stove"),
    ("open a bottle of wine", "a corkscrew", "a teaspoon of salt"),
    ("reach a high shelf", "a step ladder", "a longer tablecloth"),
    ("tie a parcel", "a piece of string", "a handful of sand"),
    ("sharpen a pencil", "a small knife", "a rubber band"),
    ("sweep up crumbs", "a broom", "a garden hose indoors"),
    ("hold sheets of paper together", "a paper clip", "a drop of oil"),
)
PLACES = ("at home", "in the garden", "in the kitchen", "in a workshop", "on a boat", "at school", "on a train")


def piqa(rng: Rng) -> Row:
    deed, right, wrong = DEEDS[int(rng.integers(len(DEEDS)))]
    label, place = int(rng.integers(2)), PLACES[int(rng.integers(len(PLACES)))]
    tools = (right, wrong) if label == 0 else (wrong, right)
    return {"goal": f"To {deed} {place}, use", "sol1": tools[0], "sol2": tools[1], "label": label}


# --- sqa3d: four blocks around, whose sides depend on where one looks ------------------------------------------------

FACING = ("north", "east", "south", "west")  # clockwise, seen from above with north on top
SIDES: Mapping[str, int] = {"in front of me": 0, "on my right": 1, "behind me": 2, "on my left": 3}


def sqa3d(rng: Rng) -> Row:
    colours = [list(pictures.COLOURS)[int(n)] for n in rng.permutation(len(pictures.COLOURS))[:4]]
    facing, side = int(rng.integers(4)), list(SIDES)[int(rng.integers(4))]
    answer = colours[(facing + SIDES[side]) % 4]

    def draw() -> Image:
        image = pictures.blank()
        half = pictures.SIDE / 2
        for colour, (across, down) in zip(colours, ((0, -1), (1, 0), (0, 1), (-1, 0)), strict=True):
            pictures.block(image, half + 0.7 * half * across, half + 0.7 * half * down, 10, pictures.COLOURS[colour])
        pictures.disc(image, half, half, 4, (90, 90, 90))
        return image

    return {
        "question": f"What colour is the block {side}?",
        "situation": f"I stand in the middle of the room and face {FACING[facing]}.",
        "answer": answer,
        "image": draw,
    }


# --- robovqa: lamps that go on and off, and only the last frame counts -----------------------------------------------

FRAMES = 16
LAMPS = ("red", "green", "blue")


def robovqa(rng: Rng) -> Row:
    lit = rng.integers(2, size=(FRAMES, len(LAMPS))).astype(bool)
    asked = int(rng.integers(len(LAMPS)))

    def draw() -> NDArray[np.uint8]:
        return np.stack([_lamps(frame) for frame in lit])

    return {
        "images": draw,
        "raw_text_question": f"The robot watches three lamps. Q: is the {LAMPS[asked]} lamp on now?",
        "raw_text_answer": "yes" if lit[-1, asked] else "no",
    }


def _lamps(lit: NDArray[np.bool_]) -> Image:
    image = pictures.blank(60)
    for place, (name, on) in enumerate(zip(LAMPS, lit, strict=True)):
        x = pictures.SIDE * (place + 0.5) / len(LAMPS)
        pictures.shape(image, "circle" if on else "ring", x, pictures.SIDE / 2, 12, pictures.COLOURS[name])
    return image


# --- odinw: a shape cut out of a picture -----------------------------------------------------------------------------


def odinw(rng: Rng) -> Row:
    kind = pictures.SHAPES[int(rng.integers(len(pictures.SHAPES)))]
    colour = list(pictures.COLOURS.values())[int(rng.integers(len(pictures.COLOURS)))]
    radius = float(rng.uniform(12, 22))
    x, y = rng.uniform(radius + 2, pictures.SIDE - radius - 2, 2)
    box = [int(x - radius - 2), int(y - radius - 2), int(2 * radius + 4), int(2 * radius + 4)]

    def scene() -> Image:
        image = pictures.blank()
        pictures.shape(image, kind, x, y, radius, colour)
        return image

    def crop() -> Image:
        left, top, width, height = box
        return scene()[max(top, 0) : top + height, max(left, 0) : left + width]

    return {"category_name": kind, "bbox": box, "area": float(box[2] * box[3]), "scene": scene, "crop": crop}


# --- bfcl: a desk with a few functions -------------------------------------------------------------------------------

SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "open_file": ("name",),
    "close_file": ("name",),
    "rename_file": ("old", "new"),
    "count_words": ("name",),
    "send_mail": ("to", "subject"),
    "set_alarm": ("hour", "minute"),
}
FILES = ("report.txt", "notes.md", "budget.csv", "letter.txt", "plan.md")
PEOPLE = ("ada", "grace", "alan", "edsger")
SUBJECTS = ("lunch", "the budget", "tomorrow", "the plan")


def bfcl(rng: Rng) -> Row:
    turns = [_turn(rng) for _ in range(int(rng.integers(2, 5)))]
    return {
        "question": [[{"role": "user", "content": text}] for text, _ in turns],
        "initial_config": {"Desk": {"files": list(FILES)}},
        "path": [f"Desk.{name}" for name in SIGNATURES],
        "involved_classes": ["Desk"],
        "ground_truth": [calls for _, calls in turns],
    }


def _turn(rng: Rng) -> tuple[str, list[str]]:
    def one(options: tuple[str, ...]) -> str:
        return options[int(rng.integers(len(options)))]

    parts = [REQUESTS[int(n)](rng, one) for n in rng.permutation(len(REQUESTS))[: int(rng.integers(1, 3))]]
    return " Then ".join(text for text, _ in parts), [call for _, call in parts]


def _renaming(rng: Rng, one: Callable[[tuple[str, ...]], str]) -> tuple[str, str]:
    old = one(FILES)
    return f"rename {old} to old_{old}.", f"rename_file(old='{old}', new='old_{old}')"


def _counting(rng: Rng, one: Callable[[tuple[str, ...]], str]) -> tuple[str, str]:
    name = one(FILES)
    return f"count the words in {name}.", f"count_words(name='{name}')"


def _opening(rng: Rng, one: Callable[[tuple[str, ...]], str]) -> tuple[str, str]:
    name = one(FILES)
    return f"open {name}.", f"open_file(name='{name}')"


def _mailing(rng: Rng, one: Callable[[tuple[str, ...]], str]) -> tuple[str, str]:
    to, subject = one(PEOPLE), one(SUBJECTS)
    return f"send a mail to {to} about {subject}.", f"send_mail(to='{to}', subject='{subject}')"


def _waking(rng: Rng, one: Callable[[tuple[str, ...]], str]) -> tuple[str, str]:
    hour, minute = int(rng.integers(24)), int(rng.integers(60))
    return f"set an alarm for {hour}:{minute:02d}.", f"set_alarm(hour={hour}, minute={minute})"


REQUESTS = (_renaming, _counting, _opening, _mailing, _waking)
