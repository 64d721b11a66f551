"""The house keeps its contract: who may import whom, and that no room knows a suite."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "docs"))

import rooms  # noqa: E402

PACKAGE = REPOSITORY / "pytest_vla"
SUITES = sorted(path.parent.name for path in (REPOSITORY / "suites").glob("*/__init__.py"))


def test_rooms_import_what_the_contract_allows():
    assert rooms.forbidden() == []


def test_every_arrow_of_the_contract_is_needed():
    assert rooms.unused() == []


def test_no_rooms_import_each_other_in_a_circle():
    assert rooms.cycle() == []


def test_every_module_is_in_a_room():
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    known = {*rooms.LEAVES, "__init__", *(name for names, _ in rooms.ROOMS.values() for name in names)}
    assert modules <= known


def test_the_drawing_in_the_docs_is_the_contract():
    assert rooms.PAGE.read_text() == rooms.page(), "draw it again: python docs/rooms.py"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_in_the_package_knows_a_suite(path):
    """By import, by name or by text; docstrings and messages may use one as an example, written SUITE/TASK."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name | ast.alias | ast.arg | ast.Attribute):
            name = getattr(node, "id", None) or getattr(node, "name", None) or getattr(node, "attr", None) or node.arg
            assert not any(suite in name.lower().split(".") for suite in SUITES), f"line {node.lineno}: {name}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in SUITES, f"line {node.lineno}: {node.value!r}"


def test_each_room_says_what_lives_there_and_where_to_begin():
    for path in sorted(PACKAGE.glob("*/__init__.py")):
        text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
        assert "Read `" in text, f"{path.parent.name}: which file to read first?"
        assert "mport" in text, f"{path.parent.name}: what may it import?"
