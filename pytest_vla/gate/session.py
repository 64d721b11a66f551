"""The gate inside a running session: it keeps the ledger, tells workers what is decided, and judges at the end."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.baseline import read_baseline
from pytest_vla.gate.comparisons import Plan, Record, cell_of, compare, group_of
from pytest_vla.gate.judge import Judgement, gather, judge
from pytest_vla.gate.rules import By, Group, Rules, read_rules
from pytest_vla.gate.schedule import cell, plan_from_dict, read_shard
from pytest_vla.gate.verdict import GateError, Verdict
from pytest_vla.options import Settings

FLAGS_FOLDER = "decided"
BUDGET = "budget"


class StopFlags:
    """A folder in which the controller leaves a note per decided comparison; a worker looks before each episode."""

    def __init__(self, folder: Path, by: By) -> None:
        self.folder, self.by = folder, by

    def reason(self, key: EpisodeKey) -> str | None:
        """Why this episode is not needed any more, or None."""
        for name in (BUDGET, _file_name(group_of(cell(key), self.by))):
            try:
                return (self.folder / name).read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
        return None

    def clear(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()

    def raise_flag(self, group: Group | None, reason: str) -> None:
        """Complete or absent: a worker must not read half a reason."""
        path = self.folder / (BUDGET if group is None else _file_name(group))
        draft = path.with_suffix(".draft")
        draft.write_text(reason, encoding="utf-8")
        draft.replace(path)


class GateSession:
    """The controller's gate: made before the first episode (bad input ends the run there), fed with every result."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rules = rules_of(settings)
        self.baseline = read_baseline(settings.gate.baseline) if settings.gate.baseline is not None else None
        if self.baseline is None and not self.rules.success:
            raise GateError(
                "nothing to judge by: add --vla-baseline=RUN, or thresholds such as "
                '[tool.pytest_vla.gate.success] "suite/task" = 0.8 in pyproject.toml'
            )
        self.plan = Plan(first=settings.run.first_episode, early_stop=settings.gate.early_stop)
        self.flags: StopFlags | None = None
        self.decided: dict[Group, Verdict] = {}
        self._records: dict[Group, list[Record]] = defaultdict(list)
        self._old = self._grouped(self.baseline) if self.baseline is not None else None
        self._count = 0
        self._begun = False

    def baseline_versions(self) -> dict[str, str]:
        """The version of each suite the baseline was made with."""
        return {record["suite"]: str(record.get("version")) for record in self.baseline or ()}

    def open(self, folder: Path) -> StopFlags:
        """Keep the notes on what is decided in a folder next to the run file."""
        self.flags = StopFlags(folder / FLAGS_FOLDER, self.rules.by)
        self.flags.clear()
        return self.flags

    def begin(self, plan: dict[str, Any], done: Iterable[Record] = ()) -> bool:
        """Take the plan a worker reports, and what a resumed run has already; False if a plan is known."""
        if self._begun:
            return False
        self._begun = True
        self.plan = plan_from_dict(plan)
        for record in done:
            self.add(record)
        return True

    def add(self, record: Record) -> None:
        """Under early stopping: see whether this result decides its comparison, or spends the budget."""
        if self.flags is None or record.get("repeat"):
            return
        group = group_of(cell_of(record), self.rules.by)
        self._count += 1
        self._records[group].append(record)
        verdict, used = self._decided(group) if group not in self.decided else (None, 0)
        if verdict is not None:
            self.decided[group] = verdict
            self.flags.raise_flag(group, f"decided: {verdict} after {used} episodes")
        if self._count == self.settings.gate.max_episodes:
            self.flags.raise_flag(None, f"the budget of {self._count} episodes is spent")

    def judge(self, records: Sequence[Record]) -> Judgement:
        return judge(records, self.rules, self.plan, self.baseline, self.settings.run.max_errors)

    def _decided(self, group: Group) -> tuple[Verdict | None, int]:
        """The verdict once every comparison of the group has stopped, or one of them has failed; and after how many."""
        cells = {name: count for name, count in self.plan.cells.items() if group_of(name, self.rules.by) == group}
        plan = Plan(cells, self.plan.first, self.plan.comparisons, early_stop=True)
        old = self._old.get(group, []) if self._old is not None else None
        comparisons = compare(self._records[group], self.rules, plan, old)
        evidence = [gather(comparison, self.rules, plan.comparisons, True) for comparison in comparisons]
        stops = [item.stopped for item in evidence]
        used = max((item.used for item in evidence if item.stopped), default=0)
        if Verdict.FAIL in stops:
            return Verdict.FAIL, used
        return (Verdict.PASS, used) if stops and None not in stops else (None, used)

    def _grouped(self, records: Iterable[Record]) -> dict[Group, list[Record]]:
        groups: dict[Group, list[Record]] = defaultdict(list)
        for record in records:
            groups[group_of(cell_of(record), self.rules.by)].append(record)
        return groups


def rules_of(settings: Settings) -> Rules:
    """The rules of this invocation; options that contradict each other are an error."""
    read_shard(settings.run.shard)
    if settings.gate.max_episodes is not None and not settings.gate.early_stop:
        raise GateError("--vla-max-episodes shares out episodes between undecided comparisons: add --vla-early-stop")
    return read_rules(settings.gate.gate_table)


def _file_name(group: Group) -> str:
    return hashlib.blake2b("\0".join(group).encode(), digest_size=12).hexdigest()
