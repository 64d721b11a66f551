"""`pytest-vla new-suite NAME`: the skeleton of a suite with its test, which runs before a line of it is changed."""

from __future__ import annotations

import keyword
import re
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template

from pytest_vla.registry import suite_names
from pytest_vla.suite import SuiteError

TEMPLATES = {"{name}_suite.py": "suite.py.txt", "test_{name}.py": "test.py.txt"}


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write the folder `name` into a folder, all of it or nothing; its files."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise SuiteError(f"a suite cannot be called '{name}': take lower-case letters, digits and _, such as my_suite")
    if name in suite_names():
        raise SuiteError(f"there is a suite called '{name}' already; take another name")
    target = folder / name
    if target.exists():
        raise SuiteError(f"'{target}' exists already; take another name, or remove it first")
    words = {"name": name, "class_name": "".join(part.capitalize() for part in name.split("_")) + "Suite"}
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}_") as made:
        whole = Path(made) / name
        whole.mkdir()
        for file, template in TEMPLATES.items():
            text = (files("pytest_vla.kit") / "templates" / template).read_text(encoding="utf-8")
            (whole / file.format(name=name)).write_text(Template(text).substitute(words), encoding="utf-8")
        whole.rename(target)
    return [target / file.format(name=name) for file in TEMPLATES]
