"""Tells LIBERO where its things are, before anybody imports it: left alone it asks a question and goes to download.

It runs first in every child process of the environment `libero`, also where something else is installed into it (such
as `vla_eval+libero`); `world` calls it for the assets of its own.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

DATA_VARIABLES = ("PYTEST_VLA_DATA_LIBERO", "LIBERO_ASSETS")
_LIKE = {"floor": "floor", "wall": "plaster"}


def settle(package: Path, assets: str) -> None:
    """Write the configuration that a question would lead to; JSON is YAML."""
    name = hashlib.blake2b(f"{package}\n{assets}".encode(), digest_size=6).hexdigest()
    folder = Path(sys.prefix) / "libero_config" / name
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "benchmark_root": str(package),
        "bddl_files": str(package / "bddl_files"),
        "init_states": str(package / "init_files"),
        "datasets": str(package.parent / "datasets"),
        "assets": assets,
    }
    unfinished = folder / f"config.{os.getpid()}"
    unfinished.write_text(json.dumps(paths), encoding="utf-8")
    unfinished.replace(folder / "config.yaml")
    os.environ["LIBERO_CONFIG_PATH"] = str(folder)


def import_libero(assets: str) -> Any:
    """The package, with its assets in that folder."""
    spec: Any = importlib.util.find_spec("libero")
    settle(Path(spec.submodule_search_locations[0]) / "libero", assets)
    with redirect_stdout(sys.stderr):
        package: Any = importlib.import_module("libero.libero")
    package._assets_path_cache = assets
    return package


def replace_absent_styles(folder: Path) -> None:
    """A floor or a wall whose texture is not among the assets gets one that is: the assets' check says so."""
    for kind, styles in _styles().STYLE_MAPPING.items():
        there = [name for name in styles.values() if (folder / name).is_file()]
        there = there or [path.name for path in sorted(folder.glob("*.png")) if _LIKE[kind] in path.name]
        for style, name in styles.items():
            if there and name not in there:
                styles[style] = there[0]


def _styles() -> Any:
    """The one module, without the package around it: whoever comes next may have to choose a renderer first."""
    name = "libero.libero.envs.arenas.style"
    if name not in sys.modules:
        package: Any = sys.modules["libero.libero"]
        path = Path(package.__file__).parent / "envs" / "arenas" / "style.py"
        spec: Any = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


if __name__ == "__prepare__":
    given = next((os.environ[name] for name in DATA_VARIABLES if os.environ.get(name)), None)
    if given is not None:
        import_libero(given)
        replace_absent_styles(Path(given) / "textures")
