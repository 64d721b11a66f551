"""The gate inside a pytest session: what it arranges, stops early, and says at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.gate.baseline import read_references
from pytest_vla.gate.comparisons import Scope, check_versions, versions_of
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.judge import Judgement, judge_by, scope_of
from pytest_vla.gate.ledger import Case, open_ledger, spent
from pytest_vla.gate.metric_rules import check_metric_rules
from pytest_vla.gate.questions import questions, shard_by
from pytest_vla.gate.rules import Rules, check_rules, read_rules
from pytest_vla.gate.schedule import in_shard, interleaved, make_scope, read_shard
from pytest_vla.gate.watch import Watch
from pytest_vla.options import Settings
from pytest_vla.outline import Stretch, in_turn, regrouped
from pytest_vla.run import Plan, Record, Run

FLAGS_FOLDER = "decided"
BUDGET = "budget"

# What the controller tells its workers.
STOP_FOLDER = "vla_stop_folder"
BASELINE_VERSIONS = "vla_baseline_versions"


def rules_of(settings: Settings) -> Rules:
    """The rules of this invocation; options that contradict each other are an error."""
    read_shard(settings.run.shard)
    if settings.gate.max_episodes is not None and not settings.gate.early_stop:
        raise GateError("--vla-max-episodes shares out episodes between undecided comparisons: add --vla-early-stop")
    rules = read_rules(settings.gate.gate_table)
    check_metric_rules(rules.metrics)
    return rules


class StopFlags:
    """A folder in which the controller leaves a note per decided cell; a worker looks before each episode."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tell: Callable[[str, str], None] = lambda name, text: None
        """Hears of every note, for workers that have another file system."""

    def reason(self, key: EpisodeKey) -> tuple[str, str] | None:
        """Why this episode is not needed any more, as `Unrun` has it; or None."""
        for why, name in (("budget", BUDGET), ("decided", _file_name(key.cell))):
            try:
                return why, (self.folder / name).read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
        return None

    def clear(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()

    def raise_flag(self, cell: Cell | None, reason: str) -> None:
        """Complete or absent: a worker must not read half a reason."""
        path = self.folder / (BUDGET if cell is None else _file_name(cell))
        draft = path.with_suffix(".draft")
        draft.write_text(reason, encoding="utf-8")
        draft.replace(path)
        self.tell(f"{FLAGS_FOLDER}/{path.name}", reason)


class GateSession:
    """The controller's gate: made before the first episode (bad input ends the run there), fed with every result."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rules = rules_of(settings)
        self.references = read_references(settings.gate.baseline, settings.gate.anchor)
        if not self.references and not self.rules.success and not self.rules.metrics:
            raise GateError(
                "nothing to judge by: add --vla-baseline=RUN, or thresholds such as "
                '[tool.pytest_vla.gate.success] "suite/task" = 0.8 in pyproject.toml'
            )
        questions([], self.rules, list(self.references))
        self.ledger = open_ledger(settings.gate.ledger, settings.gate.baseline)
        self.scope = Scope(first=settings.run.first_episode, early_stop=settings.gate.early_stop)
        self.flags: StopFlags | None = None
        self.judgement: Judgement | None = None
        self._watch: Watch | None = None
        self._count = 0

    def baseline_versions(self) -> dict[str, str]:
        """The version of each suite the baseline was made with."""
        return {
            suite: version for found in self.references.values() for suite, version in versions_of(found.table).items()
        }

    def open(self, folder: Path) -> StopFlags:
        """Keep the notes on what is decided in a folder next to the run file."""
        self.flags = StopFlags(folder / FLAGS_FOLDER)
        self.flags.clear()
        return self.flags

    def begin(self, scope: Mapping[str, Any], done: Iterable[Record] = (), run: Run | None = None) -> None:
        """Take the scope that a worker reports, and what a resumed run has already; `run` is the file so far."""
        self.scope = Scope.from_dict(scope)
        if self.flags is None:
            return
        tables = {name: found.table for name, found in self.references.items()}
        share = 1.0
        if self.ledger is not None and run is not None:
            share = spent(self.ledger.attempt(Case.of(run, self.rules, self.scope.cells, tables)))
        self._watch = Watch(self.rules, self.scope, tables, share)
        for record in done:
            self.add(record)

    def add(self, record: Record) -> None:
        """Under early stopping: see whether this result decides its comparison, or spends what may be run."""
        if self.flags is None or self._watch is None or record.key.repeat:
            return
        self._count += 1
        for cell, verdict, used in self._watch.add(record):
            self.flags.raise_flag(cell, f"decided: {verdict} after {used} episodes")
        if self._count == self.settings.gate.max_episodes:
            self.flags.raise_flag(None, f"{self._count} episodes were run, as many as --vla-max-episodes allows")

    def judge(self, run: Run) -> Judgement | None:
        """The verdict on all results; None where nothing was run."""
        if len(run):
            scope = self.scope if self.scope.cells else scope_of(run, run.of_type("gate"))  # nothing was left to run
            self.judgement = judge_by(
                run, self.rules, scope, self.references, self.settings.run.max_errors, self.ledger
            )
        return self.judgement


class GateHooks:
    """Hooks of the controller and of the workers; with `-n0` one process is both."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config, self.settings = config, settings
        self.rules = rules_of(settings)
        told: dict[str, Any] = getattr(config, "workerinput", {})
        self.is_worker = bool(told)
        self.session = GateSession(settings) if settings.gate.gating and not self.is_worker else None
        self.versions = self.session.baseline_versions() if self.session else told.get(BASELINE_VERSIONS, {})
        self.flags = StopFlags(Path(told[STOP_FOLDER])) if STOP_FOLDER in told else None

    # --- every process -----------------------------------------------------------------------------------------------

    def arrange(self, keys: list[EpisodeKey]) -> list[int]:
        """The places of the episodes that this shard runs, in the order a gate wants them."""
        if keys:  # a resumed run may have nothing left to collect
            self._check(dict.fromkeys(key.cell for key in keys), {key.suite: key.version for key in keys})
        early_stop = self.settings.gate.early_stop
        by = shard_by([key.cell for key in keys], self.rules, self.settings.gate.baseline is not None)
        shard = in_shard(keys, read_shard(self.settings.run.shard), early_stop, by)
        places = [place for place, mine in enumerate(shard) if mine]
        return [places[place] for place in interleaved([keys[place] for place in places])] if early_stop else places

    def arrange_stretches(self, stretches: list[Stretch]) -> list[Stretch]:
        """The same for episodes that have no items yet."""
        if self.settings.gate.early_stop:
            episodes = [(each.function, key) for each in stretches for key in each.episodes()]
            return regrouped(episodes[place] for place in self.arrange([key for _, key in episodes]))
        cells = dict.fromkeys(each.key(place).cell for each in stretches for place in range(len(each.variants)))
        self._check(cells, {each.suite: each.version for each in stretches})
        number, total = read_shard(self.settings.run.shard)
        return list(in_turn(stretches, number - 1, total)) if total > 1 else stretches

    def _check(self, cells: Iterable[Cell], versions: Mapping[str, str]) -> None:
        if self.settings.gate.gating:
            check_rules(self.rules, dict.fromkeys(cell[:3] for cell in cells))
            check_versions(self.versions, versions)

    def scope(self, plan: Plan) -> dict[str, Any] | None:
        """What the gate of this run is about, for the controller."""
        gate, first = self.settings.gate, self.settings.run.first_episode
        if not gate.gating:
            return None
        has_baseline, has_anchor = gate.baseline is not None, gate.anchor is not None
        scope = make_scope(plan.part, plan.whole, self.rules, has_baseline, first, gate.early_stop, has_anchor)
        return scope.to_dict()

    # --- the controller ----------------------------------------------------------------------------------------------

    def attend(self, folder: Path) -> GateSession | None:
        """Watch the run in this folder."""
        if self.session is not None and self.settings.gate.early_stop:
            self.flags = self.session.open(folder)
        return self.session

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The verdict table, and what GitHub wants to hear."""
        judgement = self.session.judgement if self.session is not None else None
        if judgement is None:
            return
        from pytest_vla.gate.printing import render, workflow_commands, write_step_summary

        terminalreporter.section("vla gate")
        writer = terminalreporter._tw
        for line in render(judgement, bool(writer.hasmarkup)).splitlines():
            terminalreporter.line(line)
        for line in workflow_commands(judgement):
            terminalreporter.line(line)
        write_step_summary(judgement)

    # --- xdist -------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[BASELINE_VERSIONS] = self.versions
        if self.flags is not None:
            node.workerinput[STOP_FOLDER] = str(self.flags.folder.resolve())


def _file_name(cell: Cell) -> str:
    return hashlib.blake2b("\0".join(cell).encode(), digest_size=12).hexdigest()
