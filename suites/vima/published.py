"""What others have scored on the original's 42 cells, and the six groups that its paper sorts the tasks into."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_vla.suite import Published

FILE = Path(__file__).parent / "data" / "published.json"
CAVEAT = (
    "Published on the original simulator: sweeping differs most here. The paper's rates are a transcription by others; "
    "CoGeLoT counts only the fewest possible steps, LLaRA allows eight and has 20 episodes a task."
)
GROUPS: Mapping[str, Sequence[str]] = {
    "simple object manipulation": ("visual_manipulation", "scene_understanding", "rotate"),
    "visual goal reaching": ("rearrange", "rearrange_then_restore"),
    "novel concept grounding": ("novel_adj", "novel_noun", "novel_adj_and_noun", "twist"),
    "one-shot video imitation": ("follow_motion", "follow_order"),
    "visual constraint satisfaction": ("sweep_without_exceeding", "sweep_without_touching"),
    "visual reasoning": ("same_texture", "same_shape", "manipulate_old_neighbor", "pick_in_order_then_restore"),
}


def published() -> Published:
    """Success rates by method and cell; a cell that a method was not run in, or did not stand by, is left out."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    rates: dict[str, dict[tuple[str, str], float]] = {}
    kinds: dict[str, list[str]] = {}
    for method in data["methods"]:
        cells = {(task, level): rate for level, tasks in method["cells"].items() for task, rate in tasks.items()}
        rates[method["name"]] = cells
        kinds.setdefault(method["kind"], []).append(method["name"])
    return Published(rates, f"{data['source']}.", CAVEAT, kinds)
