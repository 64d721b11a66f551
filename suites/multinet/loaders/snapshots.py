"""Shards that `tf.data.Dataset.save` wrote, read by TensorFlow in an environment of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pytest_vla.isolate.environment import environment, installed, python_of
from pytest_vla.isolate.install import clean_variables
from pytest_vla.isolate.process import Child, Launch
from pytest_vla.suite import provided

ENVIRONMENT = "multinet_tfdata"
PICTURE = "\0picture"  # where a row has one
WORLD = Path(__file__).parent.parent / "worlds" / "tfdata.py"


class NotInstalled(Exception):
    """The environment that reads such shards is not there."""


def snapshot_rows(shards: Sequence[Path]) -> list[dict[str, Any]]:
    """The steps in shards of one episode each, with what float observations there are."""
    declared = environment(ENVIRONMENT)
    if installed(declared.name) is None:
        raise NotInstalled(f"'{shards[0]}' is read by TensorFlow in an environment of its own: {declared.command}")
    child = Child(
        Launch(python_of(declared.folder), WORLD, clean_variables(dict(declared.variables)), provided().memory_gb)
    )
    child.ask("open", "shards", {})
    rows = []
    for shard in shards:
        for step, row in enumerate(child.ask("call", "read", [str(shard)])["value"]):
            later = {
                name: partial(_picture, child, shard, step, name)
                for name, value in row.items()
                if isinstance(value, str) and value == PICTURE
            }
            rows.append({"episode": shard.name, "step": step, **row, **later})
    return rows


def _picture(child: Child, shard: Path, step: int, name: str) -> Any:
    """Asked for when somebody looks: all pictures of a data set would not fit into memory."""
    return child.ask("call", "picture", [str(shard), step, name])["value"]
