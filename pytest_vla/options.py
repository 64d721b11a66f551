"""The command line and its `[tool.pytest_vla]` defaults, read once into one frozen value."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_vla.suggest import unknown

TABLE = "tool.pytest_vla"


@dataclass(frozen=True, slots=True)
class Option:
    """One `--vla-NAME` option; `kind` says how its text, and its value in pyproject.toml, is read."""

    name: str
    kind: Literal["text", "names", "count", "seconds", "flag"]
    default: Any
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        return f"--vla-{self.name}"

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")


OPTIONS = (
    Option(
        "policy", "text", None, "SPEC", "Policy to test: oracle, random, noop, PATH.pt (checkpoint) or MODULE:FACTORY"
    ),
    Option("suite", "names", (), "NAMES", "Suites to run, separated by commas (default: all)"),
    Option("task", "names", (), "NAMES", "Tasks to run, separated by commas (default: all)"),
    Option("partition", "names", (), "NAMES", "Partitions to run, separated by commas (default: those for testing)"),
    Option("episodes", "count", None, "N", "Episodes per (task, partition) (default: the benchmark's own, or 10)"),
    Option("first-episode", "count", 0, "N", "Index of the first episode; the n-th episode is the same in every run"),
    Option("run-dir", "text", None, "DIR", "Folder for run.jsonl and its companions (default: a new one in vla-runs/)"),
    Option("resume", "flag", False, "", "Go on with the run in --vla-run-dir, or with the newest one in vla-runs/"),
    Option("max-errors", "count", 0, "N", "Error episodes (crashes, time-outs) that do not yet fail the run"),
    Option("timeout", "seconds", 300.0, "SECONDS", "Wall-clock limit of one episode; 0 means none"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What this invocation was asked to do."""

    policy: str | None
    suite: tuple[str, ...]
    task: tuple[str, ...]
    partition: tuple[str, ...]
    episodes: int | None
    first_episode: int
    run_dir: str | None
    resume: bool
    max_errors: int
    timeout: float

    def to_dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def add_options(parser: pytest.Parser) -> None:
    """Add one `--vla-*` option per row of OPTIONS."""
    group = parser.getgroup("vla", "VLA policy evaluation (pytest-vla); defaults in [tool.pytest_vla]")
    for option in OPTIONS:
        text = option.help if option.default in (None, (), False) else f"{option.help} (default: {option.default:g})"
        if option.kind == "flag":
            group.addoption(option.flag, dest=f"vla_{option.field}", action="store_true", default=None, help=text)
        else:
            group.addoption(
                option.flag,
                dest=f"vla_{option.field}",
                action="append" if option.kind == "names" else "store",
                default=None,
                metavar=option.metavar,
                help=text,
            )


def read_settings(config: pytest.Config) -> Settings:
    """Command line first, then `[tool.pytest_vla]`, then the default; bad values are one clear usage error."""
    table = _read_table(config)
    values = {}
    for option in OPTIONS:
        given = getattr(config.option, f"vla_{option.field}")
        if given is not None:
            values[option.field] = _convert(option, given, option.flag)
        elif option.field in table:
            values[option.field] = _convert(option, table[option.field], f"[{TABLE}] {option.field}")
        else:
            values[option.field] = option.default
    return Settings(**values)


def _read_table(config: pytest.Config) -> dict[str, Any]:
    path = config.rootpath / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("pytest_vla", {})
    except tomllib.TOMLDecodeError as error:
        raise pytest.UsageError(f"{path}: {error}") from None
    known = [option.field for option in OPTIONS]
    for name in table:
        if name not in known:
            raise pytest.UsageError(unknown("option", name, known, f"in [{TABLE}] of {path}"))
    return dict(table)


def _convert(option: Option, value: Any, where: str) -> Any:
    try:
        return _CONVERT[option.kind](value)
    except (TypeError, ValueError):
        expected = {
            "text": "a text",
            "names": "names separated by commas",
            "count": "a whole number, 0 or more",
            "seconds": "a number of seconds, 0 or more",
            "flag": "true or false",
        }[option.kind]
        raise pytest.UsageError(f"{where} must be {expected}, got {value!r}") from None


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


_CONVERT = {"text": _text, "names": _names, "count": _count, "seconds": _seconds, "flag": _flag}


def shown_path(path: Path) -> str:
    """The path as a person would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
