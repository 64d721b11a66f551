"""The command line and its `[tool.pytest_vla]` defaults, read once into one frozen value."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_vla.policies.kinds import choices
from pytest_vla.suggest import unknown

TABLE = "tool.pytest_vla"
GATE = "gate"  # a flag on the command line, a table of its own in pyproject.toml


@dataclass(frozen=True, slots=True)
class Option:
    """One `--vla-NAME` option; `kind` says how its text, and its value in pyproject.toml, is read."""

    name: str
    kind: Literal["text", "names", "count", "seconds", "flag", "batch", "ensemble", "video"]
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
    Option("policy", "text", None, "SPEC", f"Policy to test: {choices()}"),
    Option("suite", "names", (), "NAMES", "Suites to run, separated by commas (default: all)"),
    Option("task", "names", (), "NAMES", "Tasks to run, separated by commas (default: all)"),
    Option("partition", "names", (), "NAMES", "Partitions to run, separated by commas (default: those for testing)"),
    Option("episodes", "count", None, "N", "Episodes per (task, partition) (default: the benchmark's own, or 10)"),
    Option("first-episode", "count", 0, "N", "Index of the first episode; the n-th episode is the same in every run"),
    Option("run-dir", "text", None, "DIR", "Folder for run.jsonl and its companions (default: a new one in vla-runs/)"),
    Option("resume", "flag", False, "", "Go on with the run in --vla-run-dir, or with the newest one in vla-runs/"),
    Option("max-errors", "count", 0, "N", "Error episodes (crashes, time-outs) that do not yet fail the run"),
    Option("timeout", "seconds", 300.0, "SECONDS", "Wall-clock limit of one episode; 0 means none"),
    Option("device", "names", (), "NAMES", "Devices to load the policy on; with -n one server each (default: cpu)"),
    Option("batch", "batch", None, "N", "Largest batch of the inference server, or auto to measure it (default: 32)"),
    Option("deterministic", "flag", False, "", "Same bits at any -n: batches of one fixed size (--vla-batch, or 8)"),
    Option("horizon", "count", 0, "N", "Actions to execute of each chunk (default: the policy's own, or all)"),
    Option("ensemble", "ensemble", None, "HOW", "What overlapping chunks become: newest, mean or exponential"),
    Option("gate", "flag", False, "", "Judge the run by [tool.pytest_vla.gate]: exit 0 pass, 1 fail, 6 undecided"),
    Option("baseline", "text", None, "RUN", "Judge the run against this earlier one (turns on --vla-gate)"),
    Option("early-stop", "flag", False, "", "Stop each comparison once it is decided (turns on --vla-gate)"),
    Option("budget", "count", None, "N", "With --vla-early-stop: episodes in all, shared by what is undecided"),
    Option("repeat", "count", 1, "N", "Run every episode N times and report how often its outcome flips"),
    Option("perturb", "text", None, "TEXT", "Also run every episode perturbed: camera.yaw=3,light.brightness=5"),
    Option("sweep", "names", (), "AXES", "Also run every episode at levels 1 to 8 of these axes, and draw the curves"),
    Option("language-check", "flag", False, "", "Also run every episode told otherwise: is the old task done?"),
    Option("hunt", "flag", False, "", "Search every task for the smallest perturbations that break the policy"),
    Option("axes", "names", (), "NAMES", "Axes or groups of axes to hunt in (default: all that the suite supports)"),
    Option("hunt-episodes", "count", None, "N", "Episodes one hunt may use (default: its own, or 500)"),
    Option("hunt-seconds", "seconds", 0.0, "SECONDS", "Time one hunt may take; 0 means no limit"),
    Option(
        "hunt-database", "text", None, "DIR", "Where finds are kept and tried first next time (default: .vla-hunts)"
    ),
    Option("shard", "text", None, "I/N", "Run the I-th of N parts of the episodes; join them with pytest-vla merge"),
    Option("report", "text", None, "PATH", "Write an HTML report there: FILE.html, or DIR for DIR/report.html"),
    Option(
        "video", "video", None, "WHICH", "Episodes to film for the report: unsolved, all, none, or N unsolved a task"
    ),
    Option("record", "text", None, "DIR", "Write solved episodes as demonstrations there (LeRobot's dataset layout)"),
    Option("record-cameras", "names", (), "NAMES", "With --vla-record: the cameras to keep (default: all)"),
    Option("actions", "flag", False, "", "Record the actions of every episode in the run file (on with --vla-report)"),
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
    gate: bool = False
    baseline: str | None = None
    early_stop: bool = False
    budget: int | None = None
    repeat: int = 1
    perturb: str | None = None
    sweep: tuple[str, ...] = ()
    language_check: bool = False
    hunt: bool = False
    axes: tuple[str, ...] = ()
    hunt_episodes: int | None = None
    hunt_seconds: float = 0.0
    hunt_database: str | None = None
    shard: str | None = None
    gate_table: dict[str, Any] = field(default_factory=dict)
    device: tuple[str, ...] = ()
    batch: str | None = None
    deterministic: bool = False
    horizon: int = 0
    ensemble: str | None = None
    report: str | None = None
    video: str | None = None
    actions: bool = False
    record: str | None = None
    record_cameras: tuple[str, ...] = ()

    @property
    def taping(self) -> bool:
        """Whether the run file keeps what the policy did: films are then drawn without it."""
        return self.actions or self.report is not None or self.video not in (None, "none")

    @property
    def perturbing(self) -> bool:
        """Whether episodes run perturbed next to their control."""
        return self.perturb is not None or bool(self.sweep) or self.language_check

    @property
    def gating(self) -> bool:
        """Whether a gate's verdict is the exit code."""
        return self.gate or self.early_stop or self.baseline is not None

    def to_dict(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


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
    values: dict[str, Any] = {}
    if isinstance(table.get(GATE), dict):
        values["gate_table"] = table.pop(GATE)
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
            "batch": "a whole number, 1 or more, or auto",
            "ensemble": "newest, mean or exponential",
            "video": "unsolved, all, none or a whole number",
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


def _batch(value: Any) -> str:
    if value != "auto" and _count(value) < 1:
        raise ValueError
    return str(value).strip()


def _ensemble(value: Any) -> str:
    if value not in ("newest", "mean", "exponential"):
        raise ValueError
    return str(value)


def _video(value: Any) -> str:
    if value not in ("unsolved", "all", "none"):
        _count(value)
    return str(value).strip()


_CONVERT = {
    "text": _text,
    "names": _names,
    "count": _count,
    "seconds": _seconds,
    "flag": _flag,
    "batch": _batch,
    "ensemble": _ensemble,
    "video": _video,
}


def shown_path(path: Path) -> str:
    """The path as a person would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
