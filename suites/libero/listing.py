"""Writes the files of `data/` anew: which tasks there are, and which assets they need.

Run with an interpreter that has `hf-libero`, and the manifest of the original's asset files (name, sha256, suites):

    PYTHON -I suites/libero/listing.py MANIFEST.json
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

PARTITIONS = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
#: Textures that the original's code names, where a list made from its XML files does not have them.
STYLES = {
    "textures/light-gray-floor-tile.png": PARTITIONS,
    "textures/light-gray-plaster.png": PARTITIONS,
    "textures/gray_ceramic_tile.png": ("libero_10", "libero_90"),
    "textures/yellow_linen_wall_texture.png": ("libero_10", "libero_90"),
}


def tasks() -> dict[str, list[str]]:
    """The tasks of each partition in the original's order."""
    package: Any = importlib.util.find_spec("libero")
    path = Path(package.submodule_search_locations[0]) / "libero" / "benchmark" / "libero_suite_task_map.py"
    spec: Any = importlib.util.spec_from_file_location("libero_suite_task_map", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: list(module.libero_task_map[name]) for name in PARTITIONS}


def assets(manifest: dict[str, Any]) -> dict[str, Any]:
    """The sha256 of every file that a partition needs, and the numbers of those partitions."""
    files = manifest["files"]
    needed = {name: {*facts["suites"], *STYLES.get(name, ())} for name, facts in files.items()}
    return {
        name: [files[name]["sha256"], [number for number, each in enumerate(PARTITIONS) if each in needed[name]]]
        for name in sorted(files)
        if needed[name]
    }


def main(manifest: str) -> None:
    folder = Path(__file__).parent / "data"
    found = {"tasks.json": tasks(), "assets.json": assets(json.loads(Path(manifest).read_text(encoding="utf-8")))}
    for name, content in found.items():
        lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
        (folder / name).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
