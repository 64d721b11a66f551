"""How options get their values: typed to pytest or to `pytest-vla`, or written in `[tool.pytest_vla]`."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_vla.options import GROUPS, OPTIONS, RENAMED, Kind, Option, Settings, renamed
from pytest_vla.policies.compute import DTYPES
from pytest_vla.policies.conventions import check_corrections
from pytest_vla.policies.errors import PolicyError
from pytest_vla.registry import canonical
from pytest_vla.suggest import unknown

TABLE = "tool.pytest_vla"
SEVERAL: tuple[Kind, ...] = ("names", "suites", "folders", "devices")  # may be typed more than once
GATE = "gate"  # a flag on the command line, a table of its own in pyproject.toml
CONVENTIONS = "conventions"  # a table of pyproject.toml only


def add_options(parser: pytest.Parser) -> None:
    """Add one `--vla-*` option per field, in its group; old names are known only in order to be refused."""
    for title, options in GROUPS.items():
        group = parser.getgroup(f"vla {title}", f"pytest-vla: {title} (defaults in [{TABLE}])")
        for one in options:
            group.addoption(one.flag, **_arguments(one))
    for old in RENAMED:
        group.addoption(f"--vla-{old}", dest=_dest(f"renamed_{old}"), nargs="?", const=True, help=argparse.SUPPRESS)


def read_settings(config: pytest.Config) -> Settings:
    """Command line first, then `[tool.pytest_vla]`, then the default; bad values are one clear usage error."""
    for old, new in RENAMED.items():
        if getattr(config.option, _dest(f"renamed_{old}")) is not None:
            raise pytest.UsageError(renamed(f"--vla-{old}", f"--vla-{new}"))
    table = _read_table(config)
    typed = {one.key: value for one in OPTIONS if (value := getattr(config.option, _dest(one.key))) is not None}
    _refuse_episodes_of_hunts(typed, table)
    values: dict[str, Any] = {}
    if isinstance(table.get(GATE), dict):
        values["gate_table"] = table.pop(GATE)
    if CONVENTIONS in table:
        values[CONVENTIONS] = _corrections(table.pop(CONVENTIONS))
    for one in OPTIONS:
        if one.key in typed:
            values[one.key] = read_value(one, typed[one.key], one.flag)
        elif one.key in table:
            values[one.key] = read_value(one, table[one.key], f"[{TABLE}] {one.key}")
    return Settings.from_dict(values).with_mode()


def read_value(option: Option, value: Any, where: str) -> Any:
    """The value of what was typed or written; a wrong one is a usage error that says what was expected."""
    kind = KINDS[option.kind]
    try:
        return kind.read(value)
    except (TypeError, ValueError):
        raise pytest.UsageError(f"{where} must be {kind.expected}, got {value!r}") from None


def _arguments(option: Option) -> dict[str, Any]:
    """What pytest's parser has to know; what was typed is read later, so that it can come from pyproject.toml too."""
    shown = "" if option.default in (None, (), False) else f" (default: {_shown(option.default)})"
    how: dict[str, Any] = {"dest": _dest(option.key), "default": None, "help": option.help + shown}
    if option.kind == "flag":
        return {**how, "action": "store_true"}
    return {**how, "action": "append" if option.kind in SEVERAL else "store", "metavar": option.metavar}


def _dest(key: str) -> str:
    return f"vla_{key}"


def _refuse_episodes_of_hunts(typed: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    """A hunt has scenes to start from. The episodes of other runs may stay in pyproject.toml when one types a hunt."""
    if "episodes" in typed and (typed.get("hunt") or table.get("hunt")):
        raise pytest.UsageError(renamed("--vla-episodes under --vla-hunt", "--vla-hunt-scenes"))
    if "episodes" in table and table.get("hunt"):
        raise pytest.UsageError(renamed(f"[{TABLE}] episodes next to hunt", "hunt_scenes"))


def _read_table(config: pytest.Config) -> dict[str, Any]:
    path = config.rootpath / "pyproject.toml"
    table = _table_of(path)
    known = [*(one.key for one in OPTIONS), CONVENTIONS]
    for name in table:
        new = RENAMED.get(name.replace("_", "-"))
        if new is not None:
            raise pytest.UsageError(renamed(f"[{TABLE}] {name}", new.replace("-", "_")))
        if name not in known:
            raise pytest.UsageError(unknown("option", name, known, f"in [{TABLE}] of {path}"))
    return dict(table)


def _table_of(path: Path) -> dict[str, Any]:
    """[tool.pytest_vla] of a file; empty where there is none."""
    if not path.is_file():
        return {}
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("pytest_vla", {})
    except tomllib.TOMLDecodeError as error:
        raise pytest.UsageError(f"{path}: {error}") from None
    return table


def corrections_in(path: Path) -> dict[str, Any]:
    """The corrections of conventions that a pyproject.toml has; none where there is no such file."""
    return _corrections(_table_of(path).get(CONVENTIONS, {}))


def _corrections(table: Any) -> dict[str, Any]:
    try:
        return check_corrections(table)
    except PolicyError as error:
        raise pytest.UsageError(str(error)) from None


# --- kinds of values -------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _names(value: Any) -> tuple[str, ...]:
    parts = [value] if isinstance(value, str) else list(value)
    names = [name.strip() for part in parts for name in _text(part).split(",")]
    if not all(names):
        raise ValueError
    return tuple(dict.fromkeys(names))


def _devices(value: Any) -> tuple[str, ...]:
    """The same one named twice holds the model twice."""
    parts = [value] if isinstance(value, str) else list(value)
    names = tuple(name.strip() for part in parts for name in _text(part).split(","))
    if not all(names):
        raise ValueError
    return names


def _suites(value: Any) -> tuple[str, ...]:
    return tuple(map(canonical, _names(value)))


def _folders(value: Any) -> tuple[str, ...]:
    """`[SUITE=]DIR`, one or several, or a table in pyproject.toml."""
    if isinstance(value, Mapping):
        value = [f"{suite}={folder}" for suite, folder in value.items()]
    parts = [value] if isinstance(value, str) else list(value)
    if not all(_text(part).rpartition("=")[2].strip() for part in parts):
        raise ValueError
    return tuple(parts)


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else -1
    if number < 0:
        raise ValueError
    return number


def _seconds(value: Any) -> float:
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _batch(value: Any) -> str:
    if value != "auto" and _count(value) < 1:
        raise ValueError
    return str(value).strip()


def _ensemble(value: Any) -> str:
    if value not in ("newest", "mean", "exponential"):
        raise ValueError
    return str(value)


def _shown(default: Any) -> str:
    return default if isinstance(default, str) else f"{default:g}"


def _dtype(value: Any) -> str:
    if value not in DTYPES:
        raise ValueError
    return str(value)


def _wire(value: Any) -> str:
    if value not in ("raw", "jpeg", "auto"):
        raise ValueError
    return str(value)


def _engine(value: Any) -> str:
    if not re.fullmatch(r"ray(:[^\s:]+:\d+)?", str(value)):
        raise ValueError
    return str(value)


def _video(value: Any) -> str:
    if value not in ("unsolved", "all", "none"):
        _count(value)
    return str(value).strip()


def _explain(value: Any) -> str:
    if value != "unsolved":
        _count(value)
    return str(value).strip()


@dataclass(frozen=True, slots=True)
class Reader:
    """How a value is read, and how the error calls what was expected."""

    read: Callable[[Any], Any]
    expected: str


KINDS: dict[Kind, Reader] = {
    "text": Reader(_text, "a text"),
    "names": Reader(_names, "names separated by commas"),
    "devices": Reader(_devices, "names separated by commas"),
    "dtype": Reader(_dtype, " or ".join(DTYPES)),
    "count": Reader(_count, "a whole number, 0 or more"),
    "seconds": Reader(_seconds, "a number of seconds, 0 or more"),
    "flag": Reader(_flag, "true or false"),
    "batch": Reader(_batch, "a whole number, 1 or more, or auto"),
    "ensemble": Reader(_ensemble, "newest, mean or exponential"),
    "engine": Reader(_engine, "ray or ray:HEAD:PORT"),
    "wire": Reader(_wire, "raw, jpeg or auto"),
    "suites": Reader(_suites, "names separated by commas"),
    "folders": Reader(_folders, "[SUITE=]DIR"),
    "gigabytes": Reader(_seconds, "a number of gigabytes, 0 or more"),
    "explain": Reader(_explain, "unsolved or a whole number"),
    "video": Reader(_video, "unsolved, all, none or a whole number"),
}
