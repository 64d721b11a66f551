"""The same verdict after the run as in it: everything the gate needs is in the run file, also of merged shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_vla.gate.baseline import check_finished, read_baseline
from pytest_vla.gate.comparisons import Plan, cell_of
from pytest_vla.gate.judge import Judgement, judge
from pytest_vla.gate.rules import Rules, check_rules, read_rules
from pytest_vla.gate.schedule import plan_from_dict
from pytest_vla.gate.verdict import GateError
from pytest_vla.report.runfile import Run


def judge_run(
    run: Run,
    baseline: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    max_errors: int | None = None,
) -> Judgement:
    """Judge a run by its own rules and baseline, or by those given here (`changes` to the rules' table)."""
    check_finished(run, f"the run '{run.path}'")
    options = run.provenance.get("options", {})
    lines = gate_lines(run)
    table = lines[0]["rules"] if lines else options.get("gate_table", {})
    rules = read_rules({**table, **(changes or {})})
    check_rules(rules, [cell_of(record)[:3] for record in run.episodes])
    reference = baseline if baseline is not None else options.get("baseline")
    if reference is None and not rules.success:
        raise GateError("nothing to judge by: add --baseline=RUN, or a threshold such as --success=SUITE/TASK=0.8")
    records = read_baseline(reference) if reference is not None else None
    allowed = options.get("max_errors", 0) if max_errors is None else max_errors
    return judge(run.episodes, rules, _plan(lines, options, rules), records, allowed)


def gate_lines(run: Run) -> list[dict[str, Any]]:
    """What the gate wrote into a run file, or into those it was merged from."""
    own = [line for line in run.others if line["type"] == "gate"]
    return own[-1:] or list(run.provenance.get("gate", ()))


def _plan(lines: Sequence[dict[str, Any]], options: Mapping[str, Any], rules: Rules) -> Plan:
    """The union of the shards' plans."""
    first = int(options.get("first_episode", 0))
    if not lines:
        return Plan(first=first, early_stop=bool(options.get("early_stop", False)))
    plans = [plan_from_dict(line) for line in lines]
    cells = {cell: count for plan in plans for cell, count in plan.cells.items()}
    return replace(plans[0], cells=cells, comparisons=max(plan.comparisons for plan in plans))
