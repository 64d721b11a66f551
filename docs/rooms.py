"""The rooms of the house and who may ask whom: the contract that a test checks, and the drawing made from it.

`python docs/rooms.py` draws the rooms into docs/how_it_works.md again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
PAGE = REPOSITORY / "docs" / "how_it_works.md"
BEGIN, END = "<!-- rooms: python docs/rooms.py -->", "<!-- end of rooms -->"

#: Small things that belong to nobody and import nothing of ours.
LEAVES = ("_version", "deadline", "drawing", "logs", "pictures", "suggest", "watchdog")

#: Each room, from the ground up, with the modules in it and the rooms it may import; the leaves are everybody's.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "episode": (("episode",), ()),
    "run": (("run",), ("episode",)),
    "tree": (("tree", "observed"), ("episode",)),
    "policies": (("policies",), ("episode", "tree")),
    "answers": (("answers",), ("episode", "run")),
    "perturb": (("perturb",), ("run",)),
    "suite": (("suite", "registry", "benchmark", "suite_page"), ("episode", "perturb", "policies")),
    "rollout": (("rollout", "lockstep"), ("episode", "perturb", "policies", "suite")),
    "options": (("options", "command_line", "command"), ("policies", "suite")),
    "sim": (("sim",), ()),
    "kit": (("kit",), ("episode", "perturb", "policies", "sim", "suite")),
    "outline": (("outline", "unmade"), ("episode", "run")),
    "inference": (("inference",), ("episode", "options", "policies", "rollout", "suite", "tree")),
    "engines": (("engines",), ("inference", "options", "outline", "policies")),
    "isolate": (
        ("isolate",),
        ("episode", "kit", "options", "perturb", "policies", "rollout", "run", "suite"),
    ),
    "testing": (("testing",), ("episode", "perturb", "policies", "rollout", "suite")),
    "readers": (("readers",), ("episode", "options", "run")),
    "messages": (("messages",), ("episode", "run")),
    "train": (("train",), ("messages", "options", "policies", "rollout", "suite", "tree")),
    "gate": (("gate",), ("answers", "episode", "options", "outline", "run", "suite")),
    "replay": (("replay",), ("episode", "inference", "policies", "rollout", "run", "suite")),
    "report": (
        ("report",),
        ("answers", "episode", "gate", "inference", "options", "perturb", "replay", "rollout", "run", "suite"),
    ),
    "evaluate": (
        ("evaluate",),
        ("episode", "inference", "options", "policies", "report", "rollout", "run", "suite"),
    ),
    "execution": (
        ("execution",),
        ("episode", "inference", "messages", "options", "outline", "policies", "rollout", "run", "suite"),
    ),
    "hunt": (
        ("hunt",),
        ("episode", "execution", "messages", "options", "perturb", "run", "suite"),
    ),
    "doctor": (
        ("doctor",),
        ("inference", "options", "policies", "rollout", "run", "suite"),
    ),
    "explain": (
        ("explain",),
        ("episode", "inference", "options", "policies", "replay", "report", "rollout", "run", "suite"),
    ),
    "plugin": (
        (
            *("plugin", "session", "opening", "afterwards", "fixtures", "collection", "planning", "scheduling"),
            *("ending", "forgetting", "reference", "several"),
        ),
        ("*",),
    ),
    "cli": (("cli",), ("*",)),
    "suites": (("suites",), ("answers", "episode", "isolate", "kit", "perturb", "policies", "sim", "suite")),
    "suites' policies": (("suites.policy",), ("answers", "episode", "kit", "policies", "suite", "suites", "train")),
}


def room_of(module: str) -> str | None:
    """The room of a module of ours; None for the package itself, which is only the public names."""
    parts = module.split(".")
    if parts[0] != "pytest_vla" or len(parts) == 1 or parts[1] in LEAVES:
        return None
    name = "suites.policy" if parts[1] == "suites" and "policy" in parts[2:] else parts[1]
    return next((room for room, (modules, _) in ROOMS.items() if name in modules), name)


def imports() -> Iterator[tuple[str, str, str]]:
    """Every import between rooms as (from, to, place). Those of annotations do not count: no code runs on them."""
    for folder, package in (("pytest_vla", "pytest_vla"), ("suites", "pytest_vla.suites")):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            parts = [*package.split("."), *path.relative_to(REPOSITORY / folder).with_suffix("").parts]
            room = room_of(".".join(parts).removesuffix(".__init__"))
            for name, line in _imported(path, parts[:-1]):
                other = room_of(name)
                if room is not None and other is not None and other != room:
                    yield room, other, f"{path.relative_to(REPOSITORY)}:{line}"


def _imported(path: Path, package: list[str]) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])]), node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == "pytest_vla":  # a name of the package may be a room
                yield from ((f"pytest_vla.{alias.name}", node.lineno) for alias in node.names if _is_room(alias.name))
            else:
                yield node.module, node.lineno


def _is_room(name: str) -> bool:
    return any(name in modules for modules, _ in ROOMS.values())


def forbidden() -> list[str]:
    """Imports that the contract does not allow."""
    return [
        f"{place}: '{room}' imports '{other}'"
        for room, other, place in imports()
        if room not in ROOMS or (other not in ROOMS[room][1] and "*" not in ROOMS[room][1])
    ]


def unused() -> list[str]:
    """Arrows of the contract that no import needs any more."""
    used = {(room, other) for room, other, _ in imports()}
    return [
        f"'{room}' does not import '{other}'"
        for room, (_, others) in ROOMS.items()
        for other in others
        if other != "*" and (room, other) not in used
    ]


def cycle() -> list[str]:
    """Rooms that import each other in a circle, over what is really imported; empty where there is none."""
    arrows: dict[str, set[str]] = {}
    for room, other, _ in imports():
        arrows.setdefault(room, set()).add(other)
    left = {*arrows, *(other for others in arrows.values() for other in others)}
    while True:
        free = {room for room in left if not arrows.get(room, set()) & left}
        if not free:
            return sorted(left)
        left -= free


def drawing() -> str:
    """The rooms as a Mermaid chart. An arrow that follows from others is left out, so that a person can read it."""
    arrows = {room: set(ROOMS) - {room} if "*" in others else set(others) for room, (_, others) in ROOMS.items()}
    arrows["plugin"] -= {"cli", "suites", "suites' policies", "kit", "sim", "testing"}
    arrows["cli"] -= {"plugin", "suites", "suites' policies", "sim", "testing", "execution", "messages"}
    lines = ["```mermaid", "flowchart TD"]
    for room, (modules, _) in ROOMS.items():
        others = [name for name in modules if name not in (room, "suites.policy")]
        label = f"{room}<br/><small>{', '.join(others)}</small>" if others else room
        lines.append(f'    {_id(room)}["{label}"]')
    for room, targets in arrows.items():
        implied = {far for near in targets for far in _reach(near, arrows)}
        lines += [f"    {_id(room)} --> {_id(target)}" for target in ROOMS if target in targets - implied]
    return "\n".join([*lines, "```"])


def _reach(room: str, arrows: dict[str, set[str]]) -> set[str]:
    return {far for near in arrows[room] for far in {near, *_reach(near, arrows)}}


def _id(room: str) -> str:
    return "".join(letter for letter in room if letter.isalpha())


def page() -> str:
    """docs/how_it_works.md with the rooms as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"drawn into {PAGE.relative_to(REPOSITORY)}")
