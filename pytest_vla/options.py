"""Every option there is: a group of options is a dataclass, and its fields are the table.

A field's name is everything else's name: `max_errors` is `--vla-max-errors`, `max_errors` in pyproject.toml and in the
run file, and `settings.run.max_errors` in the code. A new option is a new field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from pytest_vla.policies.conventions import preset_names
from pytest_vla.policies.kinds import choices

Kind = Literal[
    "text",
    "engine",
    "wire",
    "names",
    "devices",
    "dtype",
    "count",
    "seconds",
    "flag",
    "batch",
    "ensemble",
    "video",
    "folders",
    "gigabytes",
    "suites",
    "explain",
]

Wire = Literal["raw", "jpeg", "auto"]

# Options that had another name, refused with the new one. Run files that have the old one are read all the same.
RENAMED = {"budget": "max-episodes", "actions": "keep-actions"}


def renamed(old: str, new: str) -> str:
    """The one line for whoever still writes the old name."""
    return f"{old} has another name now: write {new}"


def option(kind: Kind, metavar: str, text: str) -> dict[str, Any]:
    """What makes a field an option: how its value is read (see command_line.py), and what the help says."""
    return {"kind": kind, "metavar": metavar, "help": text}


def flag(text: str) -> dict[str, Any]:
    return option("flag", "", text)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which episodes, where their results go, and when it is too much."""

    suite: tuple[str, ...] = field(
        default=(), metadata=option("suites", "NAMES", "Suites to run, separated by commas (default: all)")
    )
    task: tuple[str, ...] = field(
        default=(), metadata=option("names", "NAMES", "Tasks to run, separated by commas (default: all)")
    )
    partition: tuple[str, ...] = field(
        default=(),
        metadata=option("names", "NAMES", "Partitions to run, separated by commas (default: those for testing)"),
    )
    episodes: int | None = field(
        default=None,
        metadata=option("count", "N", "Episodes per (task, partition) (default: the benchmark's own, or 10)"),
    )
    first_episode: int = field(
        default=0,
        metadata=option("count", "N", "Index of the first episode; the n-th episode is the same in every run"),
    )
    repeat: int = field(
        default=1, metadata=option("count", "N", "Run every episode N times and report how often its outcome flips")
    )
    shard: str | None = field(
        default=None,
        metadata=option("text", "I/N", "Run the I-th of N parts of the episodes; join them with pytest-vla merge"),
    )
    data: tuple[str, ...] = field(
        default=(),
        metadata=option("folders", "[SUITE=]DIR", "Folder with what a suite cannot ship, such as its assets"),
    )
    env_memory: float = field(
        default=0.0,
        metadata=option("gigabytes", "GB", "Memory that a suite's own process may take; 0: all there is"),
    )
    engine: str | None = field(
        default=None,
        metadata=option("engine", "ray[:HEAD:PORT]", "Run the workers of -n on a Ray cluster, or on a local Ray"),
    )
    run_dir: str | None = field(
        default=None,
        metadata=option("text", "DIR", "Folder for run.jsonl and its companions (default: a new one in vla-runs/)"),
    )
    run_name: str | None = field(
        default=None,
        metadata=option("text", "NAME", "Put the run in vla-runs/NAME; commands then take NAME, see pytest-vla runs"),
    )
    resume: bool = field(
        default=False, metadata=flag("Go on with the run in --vla-run-dir, or with the newest one in vla-runs/")
    )
    keep_errors: bool = field(
        default=False, metadata=flag("With --vla-resume: leave error episodes as they are (default: run them again)")
    )
    timeout: float = field(
        default=300.0,
        metadata=option("seconds", "SECONDS", "Seconds without a step after which an episode hangs; 0: never"),
    )
    max_errors: int = field(
        default=0, metadata=option("count", "N", "Error episodes (crashes, time-outs) that do not yet fail the run")
    )


@dataclass(frozen=True, slots=True)
class InferenceOptions:
    """Who acts, where the model is, and how it is asked."""

    policy: str | None = field(
        default=None,
        metadata=option("text", "SPEC", f"Policy to test: {choices()}"),
    )
    device: tuple[str, ...] = field(
        default=(),
        metadata=option("devices", "NAMES", "Devices to load the policy on; with -n one server each (default: cpu)"),
    )
    dtype: str | None = field(
        default=None,
        metadata=option("dtype", "NAME", "Precision of a torch model's products: bfloat16 or float16, by autocast"),
    )
    compile: bool = field(
        default=False, metadata=flag("Compile a torch model's networks: a slow first call, faster ones after it")
    )
    batch: str | None = field(
        default=None,
        metadata=option("batch", "N", "Largest batch of the inference server, or auto to measure it (default: 32)"),
    )
    deterministic: bool = field(
        default=False, metadata=flag("Same bits at any -n: batches of one fixed size (--vla-batch, or 8)")
    )
    no_deterministic: bool = field(
        default=False, metadata=flag("With a gate or a hunt, which are deterministic: batches of any size all the same")
    )
    trust_policy: tuple[str, ...] = field(
        default=(),
        metadata=option("names", "NAMES", "Modules, files or folders whose code a model file may run, or all"),
    )
    doctor: bool = field(
        default=False, metadata=flag("At the end, examine the wiring of policy and suite, as pytest-vla doctor does")
    )
    wire: Wire = field(
        default="auto",
        metadata=option(
            "wire", "HOW", "Pictures between nodes: raw, jpeg (lossy), or auto: raw, deflated on slow links"
        ),
    )
    allow_leaks: bool = field(
        default=False,
        metadata=flag("Run a policy although it was trained on tasks that count as unseen; the report says so"),
    )
    horizon: int = field(
        default=0,
        metadata=option("count", "N", "Actions to execute of each chunk (default: the policy's own, or all)"),
    )
    preset: str | None = field(
        default=None,
        metadata=option("text", "NAME", f"What the policy's numbers mean, by its family: {', '.join(preset_names())}"),
    )
    conventions: Mapping[str, Any] = field(default_factory=dict)  # [tool.pytest_vla.conventions], a person's own
    ensemble: str | None = field(
        default=None,
        metadata=option("ensemble", "HOW", "What overlapping chunks become: newest, mean or exponential"),
    )


@dataclass(frozen=True, slots=True)
class RobustnessOptions:
    """What is changed in the episodes: by a plan, or by a search."""

    perturb: str | None = field(
        default=None,
        metadata=option("text", "TEXT", "Also run every episode perturbed: camera.yaw=-3,light.shadow=5"),
    )
    sweep: tuple[str, ...] = field(
        default=(),
        metadata=option("names", "AXES", "Also run every episode at all levels of these axes, and draw the curves"),
    )
    language_check: bool = field(
        default=False, metadata=flag("Also run every episode told otherwise: is the old task done?")
    )
    hunt: bool = field(
        default=False, metadata=flag("Search every task for the smallest perturbations that break the policy")
    )
    axes: tuple[str, ...] = field(
        default=(),
        metadata=option("names", "NAMES", "Axes or groups of axes to hunt in (default: all of the suite but controls)"),
    )
    hunt_scenes: int | None = field(
        default=None,
        metadata=option("count", "N", "Unperturbed episodes one hunt starts from (default: its own, or 10)"),
    )
    hunt_episodes: int | None = field(
        default=None, metadata=option("count", "N", "Episodes one hunt may use (default: its own, or 500)")
    )
    hunt_seconds: float = field(
        default=0.0, metadata=option("seconds", "SECONDS", "Time one hunt may take; 0 means no limit")
    )
    hunt_seed: int | None = field(
        default=None,
        metadata=option("count", "N", "What a hunt draws follows from it (default: drawn, and kept in the run file)"),
    )
    hunt_database: str | None = field(
        default=None,
        metadata=option("text", "DIR", "Where finds are kept and tried first next time (default: .vla-hunts)"),
    )

    @property
    def perturbing(self) -> bool:
        """Whether episodes run perturbed next to their control."""
        return self.perturb is not None or bool(self.sweep) or self.language_check


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Whether the run is judged, by what, and how soon."""

    gate: bool = field(
        default=False, metadata=flag("Judge the run by [tool.pytest_vla.gate]: exit 0 pass, 1 fail, 6 undecided")
    )
    baseline: str | None = field(
        default=None, metadata=option("text", "RUN", "Judge the run against this earlier one (turns on --vla-gate)")
    )
    anchor: str | None = field(
        default=None,
        metadata=option("text", "RUN", "Judge it against this release as well: baselines drift (turns on --vla-gate)"),
    )
    reference: str | None = field(
        default=None,
        metadata=option(
            "text", "SPEC|RUN", "Compare what is known with this policy, run first, or with an earlier run's answers"
        ),
    )
    ledger: str | None = field(
        default=None,
        metadata=option("text", "FILE", "Keep the verdicts there: a second try must prove more (none: no ledger)"),
    )
    early_stop: bool = field(
        default=False, metadata=flag("Stop each comparison once it is decided (turns on --vla-gate)")
    )
    max_episodes: int | None = field(
        default=None,
        metadata=option("count", "N", "With --vla-early-stop: episodes in all, shared by what is undecided"),
    )
    gate_table: Mapping[str, Any] = field(default_factory=dict)  # [tool.pytest_vla.gate], which no option can say

    @property
    def gating(self) -> bool:
        """Whether a gate's verdict is the exit code."""
        return self.gate or self.early_stop or self.baseline is not None or self.anchor is not None


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What is kept of the episodes for people, and for training."""

    report: str | None = field(
        default=None,
        metadata=option("text", "PATH", "Write an HTML report there: FILE.html, or DIR for DIR/report.html"),
    )
    video: str | None = field(
        default=None,
        metadata=option("video", "WHICH", "Episodes to film for the report: unsolved, all, none, or N unsolved a task"),
    )
    media: str | None = field(
        default=None,
        metadata=option("text", "ADDRESS", "Where workers put films: a folder, or what fsspec reaches (s3://...)"),
    )
    explain: str | None = field(
        default=None,
        metadata=option("explain", "WHICH", "Explain episodes at the end: unsolved, or N of each task, unsolved first"),
    )
    keep_actions: bool = field(
        default=False, metadata=flag("Keep the actions of every episode in the run file (on with --vla-report)")
    )
    record: str | None = field(
        default=None,
        metadata=option("text", "DIR", "Write solved episodes as demonstrations there (LeRobot's dataset layout)"),
    )
    record_cameras: tuple[str, ...] = field(
        default=(), metadata=option("names", "NAMES", "With --vla-record: the cameras to keep (default: all)")
    )

    @property
    def taping(self) -> bool:
        """Whether the run file keeps what the policy did: films are then drawn without it."""
        return self.keep_actions or self.reporting or self.media is not None or self.explain is not None

    @property
    def reporting(self) -> bool:
        """Whether a page is written, or films are made."""
        return self.report is not None or self.video not in (None, "none")


@dataclass(frozen=True, slots=True)
class Settings:
    """What this invocation was asked to do: a field a group, with its title in the help."""

    run: RunOptions = field(default_factory=RunOptions, metadata={"title": "what to run"})
    inference: InferenceOptions = field(default_factory=InferenceOptions, metadata={"title": "policy and inference"})
    robustness: RobustnessOptions = field(default_factory=RobustnessOptions, metadata={"title": "perturb and hunt"})
    gate: GateOptions = field(default_factory=GateOptions, metadata={"title": "gate"})
    report: ReportOptions = field(default_factory=ReportOptions, metadata={"title": "report"})

    def with_mode(self, hunting: bool = False) -> Settings:
        """Verdicts and hunts are about the policy, not about who happened to share its batch: a row a call.

        Unless `--vla-batch` names another number, or `auto`, or `--vla-no-deterministic` was typed. `hunting` is for
        hunts that a test file asks for.
        """
        asked = self.inference
        judged = self.gate.gating or self.robustness.hunt or hunting
        if not judged or asked.deterministic or asked.no_deterministic or asked.batch == "auto":
            return self
        return replace(self, inference=replace(asked, deterministic=True, batch=asked.batch or "1"))

    def to_dict(self) -> dict[str, Any]:
        """All values by the names of their options, as the run file has them."""
        groups = [getattr(self, group.name) for group in fields(self)]
        return {item.name: getattr(group, item.name) for group in groups for item in fields(group)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """The settings of a run file, also of one that does not know every option yet or has an old name for it."""
        new = {old.replace("-", "_"): name.replace("-", "_") for old, name in RENAMED.items()}
        given = {new.get(name, name): tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        groups = {}
        for group in fields(cls):
            default = getattr(_DEFAULTS, group.name)
            names = [item.name for item in fields(default) if item.name in given]
            groups[group.name] = replace(default, **{name: given[name] for name in names})
        return cls(**groups)


_DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Option:
    """One `--vla-NAME` option; `kind` says how its text, and its value in pyproject.toml, is read."""

    name: str
    kind: Kind
    default: Any
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        return f"--vla-{self.name}"

    @property
    def key(self) -> str:
        """Its name in pyproject.toml, in the run file and in the settings."""
        return self.name.replace("-", "_")


def _options_of(group: Any) -> tuple[Option, ...]:
    return tuple(
        Option(item.name.replace("_", "-"), default=getattr(group, item.name), **item.metadata)
        for item in fields(group)
        if item.metadata
    )


GROUPS = {group.metadata["title"]: _options_of(getattr(_DEFAULTS, group.name)) for group in fields(Settings)}
OPTIONS = tuple(option for options in GROUPS.values() for option in options)


def shown_path(path: Path) -> str:
    """The path as a person would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
