"""The kit knows no suite and no room but those it is built on."""

import ast
from pathlib import Path

import pytest_vla.kit

ALLOWED = ("drawing", "episode", "kit", "perturb", "policies", "registry", "sim", "suite")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_the_kit_imports_only_the_rooms_below_it():
    for path in Path(pytest_vla.kit.__file__).parent.glob("*.py"):
        ours = [name.split(".")[1] for name in imported(path) if name.startswith("pytest_vla.")]
        assert set(ours) <= set(ALLOWED), path.name
