"""The false verdicts of every way a person can use the gate, by its own functions on simulated episodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.gate_errors import ALPHA, ErrorRate, draw_pairs, first_answer
from pytest_vla.episode import Cell
from pytest_vla.gate import exact, sequential
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import Bounds, Verdict
from pytest_vla.gate.judge import DECLARED_SHARE, judge
from pytest_vla.gate.ledger import spent
from pytest_vla.gate.rules import Rules, read_rules
from pytest_vla.gate.side_by_side import describe
from pytest_vla.run import Completeness, KeySet, Plan, Run, Table, Unrun
from pytest_vla.run.table import COLUMNS, ERROR, SOLVED, UNSOLVED, Source

MARGIN = 0.1
ROUNDS = 60
THRESHOLD = Bounds(0.6, 0.8)
EXTENDED = ("its plan was changed after its first episodes",)
REASONS = ("", "step_limit", "timeout")
SHARDS = 4


def tasks(count: int) -> tuple[Cell, ...]:
    return tuple(Cell("coins", f"t{place:02d}", "test") for place in range(count))


def table_of(outcomes: np.ndarray, scenes: int = 1) -> Table:
    """The table of outcomes (tasks, episodes); a negative one is an episode that is not there."""
    cell, index = np.nonzero(outcomes >= 0)
    outcome = outcomes[cell, index].astype(np.int8)
    columns = {name: np.zeros(len(cell), dtype=np.int32) for name in COLUMNS}
    columns |= {"cell": cell.astype(np.int32), "index": index.astype(np.int64), "outcome": outcome}
    columns |= {name: np.zeros(len(cell), dtype=bool) for name in ("objected", "faulted")}
    columns["reason"] = np.select([outcome == UNSOLVED, outcome == ERROR], [1, 2], 0).astype(np.int16)
    columns["scene"] = np.full(len(cell), scenes, dtype=np.uint64)
    return Table(tasks(len(outcomes)), (Source("1", ()),), REASONS, **columns)


def by_difficulty(mean: float, count: int) -> np.ndarray:
    """Rates of tasks whose names sort by difficulty, as different as this mean allows."""
    room = min(mean, 1 - mean)
    return np.linspace(mean - room, mean + room, count)


def modes(rng: np.random.Generator, trials: int, few: int) -> Iterator[ErrorRate]:
    """Every row; `few` trials where each is a whole judgement, or several."""
    yield from pooled_unpaired(rng, trials)
    yield from pooled_threshold(rng, trials)
    yield from pooled_paired(rng, trials)
    yield from pooled_fixed(rng, trials)
    yield from missing_shard(rng, few)
    yield from resumed_by_advice(rng, few)
    yield from resumed_until_it_passes(rng, few)
    yield from errors_in_disguise(rng, few)
    yield from killed(rng, few)
    yield from again_until_it_passes(rng, trials)
    yield from two_level(rng, few)
    yield from side_by_side(rng, few)
    yield from side_by_side_stopped(rng, few)


def pooled(name: str, match: sequential.Match, draw: dict[str, np.ndarray], trials: int) -> Iterator[ErrorRate]:
    """`draw` has the outcomes (trials, rounds, tasks) of a policy that must not pass, and of one that must not fail."""
    for kind, wrong in (("false pass", 1), ("false fail", -1)):
        outcomes = draw[kind]
        passing = sequential.stakes(match.passing, outcomes)
        failing = sequential.stakes(match.failing, match.mirrored(outcomes))
        answers = first_answer(passing, failing, 1)[1]
        yield ErrorRate(f"{name}: {kind}", int((answers == wrong).sum()), trials)


def coins(rng: np.random.Generator, trials: int, rounds: int, rates: np.ndarray) -> np.ndarray:
    return (rng.random((trials, rounds, len(rates))) < rates).astype(float)


def pooled_unpaired(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    count = 17
    for order, rates in (
        ("by difficulty", np.linspace(MARGIN, 1, count)),
        ("in random order", rng.permutation(np.linspace(MARGIN, 1, count))),
    ):
        old = coins(rng, trials, ROUNDS, rates)
        draw = {
            "false pass": coins(rng, trials, ROUNDS, rates - MARGIN) - old,
            "false fail": coins(rng, trials, ROUNDS, rates) - old,
        }
        match = sequential.Match.of_difference(Bounds(-MARGIN, 0.0))
        yield from pooled(f"early stop, pooled, unpaired, {count} tasks {order}", match, draw, trials)


def pooled_threshold(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    for count in (17, 42):
        for bounds in (Bounds(0.5, 0.6), Bounds(0.7, 0.7)):
            rates = {"false pass": bounds.low, "false fail": bounds.high}
            draw = {kind: coins(rng, trials, ROUNDS, by_difficulty(rate, count)) for kind, rate in rates.items()}
            name = f"early stop, pooled threshold {bounds.low}-{bounds.high}, {count} cells by difficulty"
            yield from pooled(name, sequential.Match.of_rate(bounds), draw, trials)


def pooled_paired(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    count, flips = 42, 0.05
    draw = {}
    for kind, gap in (("false pass", MARGIN), ("false fail", 0.0)):
        loss = np.linspace(0, 2 * gap, count)  # the last tasks by name are the worse ones
        sides = [draw_pairs(rng, (trials, ROUNDS), flips, flips + gap, flips + gap + 0.2) for gap in loss]
        draw[kind] = np.stack([new.astype(float) - old for old, new in sides], axis=-1)
    match = sequential.Match.of_difference(Bounds(-MARGIN, 0.0))
    yield from pooled(f"early stop, pooled, paired, {count} cells by loss", match, draw, trials)


def pooled_fixed(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """The declared number, pooled over tasks that are alike, or not; and what knowing the tasks is worth."""
    level, bounds, size = ALPHA * DECLARED_SHARE, Bounds(0.5, 0.5), 10
    for count in (4, 17, 42):
        for name, spread in (("alike", 0.0), ("by difficulty", 1.0)):
            rates = 0.5 + spread * (by_difficulty(0.5, count) - 0.5)
            hits = rng.binomial(size, rates, (trials, count))
            found = [exact.pooled_rate_evidence([(int(hit), size) for hit in row], bounds) for row in hits]
            wrong = sum(evidence.passing <= level for evidence in found)
            yield ErrorRate(f"declared n, pooled threshold, {count} tasks {name}: false pass", wrong, trials)


def verdict_of(outcomes: np.ndarray, rules: Rules, planned: int | None = None, **more: object) -> Verdict:
    """The verdict on outcomes (tasks, episodes), by the gate's own function."""
    count = outcomes.shape[1] if planned is None else planned
    scope = Scope(dict.fromkeys(tasks(len(outcomes)), count))
    return judge(table_of(outcomes), rules, scope, **more).verdict  # type: ignore[arg-type]


def missing_shard(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """One of four shards is there, and good; the others may be anything."""
    rules, wrong = read_rules({"success": {"*": [0.6, 0.8]}}), 0
    for _ in range(trials):
        outcomes = np.full((SHARDS, 60), -1)
        outcomes[0] = rng.random(60) < 0.95
        wrong += verdict_of(outcomes, rules, complete=Completeness(SHARDS * 60, 60)) is Verdict.PASS
    yield ErrorRate(f"1 of {SHARDS} shards: pass", wrong, trials)


def resumed(
    rng: np.random.Generator, rate: float, wanted: tuple[Verdict, ...], step: int | None, most: int = 300
) -> Verdict:
    """20 episodes are declared; then more at a time, as the gate advises or `step`, until the verdict is wanted."""
    rules = read_rules({"success": {"*": [THRESHOLD.low, THRESHOLD.high]}})
    solved = (rng.random((1, most)) < rate).astype(int)
    size, history = 20, ()
    while True:
        scope = Scope({tasks(1)[0]: size})
        judgement = judge(table_of(solved[:, :size]), rules, scope, history=history)
        if judgement.verdict in wanted or size == most:
            return judgement.verdict
        more = step or judgement.rows[0].more or most
        size, history = min(most, size + more), EXTENDED


def resumed_by_advice(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    decided = (Verdict.PASS, Verdict.FAIL)
    for rate, wrong in ((THRESHOLD.low, Verdict.PASS), (THRESHOLD.high, Verdict.FAIL)):
        found = sum(resumed(rng, rate, decided, None) is wrong for _ in range(trials))
        yield ErrorRate(f"resumed by the printed number until decided: false {wrong}", found, trials)


def resumed_until_it_passes(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    found = sum(resumed(rng, THRESHOLD.low, (Verdict.PASS,), 10) is Verdict.PASS for _ in range(trials))
    yield ErrorRate("resumed by 10 episodes until it passes: false pass", found, trials)


def errors_in_disguise(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """Failures that end as time-outs, as many as there are allowed."""
    rules = read_rules({"success": {"*": [THRESHOLD.low, THRESHOLD.high]}})
    for share in (0.2, 0.5, 0.9):
        wrong = 0
        for _ in range(trials):
            outcomes = (rng.random((1, 60)) < THRESHOLD.low).astype(int)
            late = (outcomes == UNSOLVED) & (rng.random(outcomes.shape) < share)
            outcomes = np.where(late, ERROR, outcomes)
            wrong += verdict_of(outcomes, rules, max_errors=1000) is Verdict.PASS
        yield ErrorRate(f"{100 * share:.0f}% of the failures end as time-outs: false pass", wrong, trials)


def killed(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """Solved episodes end first. The run is killed half way, merged and judged; then it is resumed and judged again."""
    rules, size = read_rules({"success": {"*": [THRESHOLD.low, THRESHOLD.high]}}), 60
    for rate, wrong in ((THRESHOLD.low, Verdict.PASS), (THRESHOLD.high, Verdict.FAIL)):
        found = 0
        for _ in range(trials):
            outcomes = (rng.random((1, size)) < rate).astype(int)
            ends = np.arange(size) + np.where(outcomes[0] == SOLVED, 0, 20)
            arrived = np.where(ends < 40, outcomes, -1)
            there = int((arrived >= 0).sum())
            so_far = verdict_of(arrived, rules, size, complete=Completeness(size, there))
            found += wrong in (so_far, verdict_of(outcomes, rules))
        yield ErrorRate(f"killed, merged, judged, resumed, judged: false {wrong}", found, trials)


def again_until_it_passes(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """With a ledger: fresh episodes each time, or the same ones of which 5% flip."""
    size = 60
    pvalues = np.array([exact.rate_evidence(hits, size, THRESHOLD).passing for hits in range(size + 1)])
    for name, flips in (("fresh episodes", None), ("the same, 5% flips", 0.05)):
        for times in (3, 5, 10):
            solved = rng.random((trials, times, size)) < THRESHOLD.low
            if flips is not None:
                noise = rng.random((trials, times, size)) < THRESHOLD.low
                solved = np.where(rng.random((trials, times, size)) < 2 * flips, noise, solved[:, :1])
            levels = ALPHA * DECLARED_SHARE * np.array([spent(attempt) for attempt in range(1, times + 1)])
            passed = (pvalues[solved.sum(-1)] <= levels).any(axis=1)
            yield ErrorRate(f"again {times} times with a ledger, {name}: any pass", int(passed.sum()), trials)


def two_level(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """Equal policies must not fail, nor one pass that lost the margin on the whole."""
    count, size, flips = 12, 20, 0.05
    for gap, wrong in ((0.0, Verdict.FAIL), (MARGIN, Verdict.PASS)):
        found = sum(_paired_verdict(rng, (count, size), flips, np.full(count, gap)) is wrong for _ in range(trials))
        yield ErrorRate(f"two levels, {count} tasks x {size}: false {wrong}", found, trials)


def caught(rng: np.random.Generator, trials: int, size: int) -> float:
    """How often two levels see one task that lost 50 points."""
    loss = np.array([0.5] + [0.0] * 11)
    found = [_paired_verdict(rng, (12, size), 0.02, loss) is Verdict.FAIL for _ in range(trials)]
    return sum(found) / trials


def _paired_verdict(rng: np.random.Generator, shape: tuple[int, int], flips: float, loss: np.ndarray) -> Verdict:
    sides = [draw_pairs(rng, shape[1:], flips, flips + gap, flips + gap + 0.3) for gap in loss]
    old, new = (np.stack([side[place] for side in sides]).astype(int) for place in (0, 1))
    return verdict_of(new, Rules(margin=MARGIN), baseline=table_of(old))


def run_of(outcomes: np.ndarray, planned: int | None = None) -> Run:
    size = outcomes.shape[1]
    table = table_of(outcomes)
    plan = KeySet({(cell, 0): ((0, planned or size),) for cell in table.cells})
    unrun = ()
    if planned is not None and planned > size:
        unrun = (Unrun("decided", "decided", KeySet({(cell, 0): ((size, planned),) for cell in table.cells})),)
    provenance = {"type": "run", "policy": {"text": "coin", "digest": "coin"}}
    return replace(Run(Path("run.jsonl"), provenance, table, table.keys(), Plan(plan, plan)), unrun=unrun)


def any_star(runs: Sequence[Run]) -> bool:
    """Whether compare marks a difference with a star; the words below its table have stars of their own."""
    shown = describe(runs, [f"run{place}" for place in range(len(runs))], most_flips=0)
    return re.search(r"p[=<][0-9.]+\*", shown) is not None


def side_by_side(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    for policies in (5, 10):
        found = sum(
            any_star([run_of((rng.random((1, 50)) < 0.5).astype(int)) for _ in range(policies)]) for _ in range(trials)
        )
        yield ErrorRate(f"compare of {policies} equal policies: any star", found, trials)


def side_by_side_stopped(rng: np.random.Generator, trials: int) -> Iterator[ErrorRate]:
    """One of two equal policies was stopped by its own gate."""
    found = 0
    for _ in range(trials):
        old, new = (rng.random((2, 1, 100)) < 0.7).astype(int)
        evidence = sequential.rate_evidence(new[0].astype(bool), Bounds(0.6, 0.8), ALPHA, ALPHA)
        size = max(evidence.used, 10)
        found += any_star([run_of(old), run_of(new[:, :size], 100)])
    yield ErrorRate("compare with a run that its gate had stopped: any star", found, trials)
