"""LeRobot: the `eval_info.json` of `lerobot-eval`, as it is now (`per_task`) and as it was (`per_episode`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_vla.episode import Result
from pytest_vla.readers.harness import Foreign, ReaderError, key, result

MADE_WITH = {"harness": "lerobot-eval"}


def reads(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return '"pc_success"' in text and ('"per_task"' in text or '"per_episode"' in text)


def read(path: Path) -> Foreign:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        results = tuple(_per_task(data["per_task"]) if "per_task" in data else _per_episode(data["per_episode"]))
        summary = data.get("overall") or data.get("aggregated") or {}
        return Foreign("lerobot-eval", "", path.parent.name or "unknown policy", results, _claim(summary, len(results)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReaderError(f"'{path}' looks like an eval_info.json of LeRobot, but is none: {error!r}") from None


def _per_task(tasks: list[dict[str, Any]]) -> Iterator[Result]:
    """The order of episodes is that of seeds that start at one number: the same command gives the same scenes."""
    for task in tasks:
        for index, success in enumerate(task["metrics"]["successes"]):
            episode = key(task["task_group"], f"task_{task['task_id']}", "all", index)
            yield result(episode, bool(success), pairs=True, made_with=MADE_WITH)


def _per_episode(episodes: list[dict[str, Any]]) -> Iterator[Result]:
    for each in episodes:
        seed = each.get("seed")
        made = {**MADE_WITH, **({} if seed is None else {"seed": str(seed)})}
        episode = key("lerobot", "task", "all", int(each["episode_ix"]))
        yield result(episode, bool(each["success"]), pairs=seed is not None, made_with=made)


def _claim(summary: dict[str, Any], episodes: int) -> tuple[int, int] | None:
    share = summary.get("pc_success")
    if share is None:
        return None
    total = int(summary.get("n_episodes") or episodes)
    return round(float(share) / 100 * total), total
