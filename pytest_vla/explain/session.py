"""Explanations that somebody asked for: the policy of a run, or another one, in a server of its own."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_vla.explain.episodes import explain_episode
from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.many import summary
from pytest_vla.explain.moment import Wishes
from pytest_vla.explain.written import FOLDER, write_episode
from pytest_vla.inference.session import open_policy
from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.policies.kinds import kind_of
from pytest_vla.replay import Replayer, consent
from pytest_vla.run import RunFileError
from pytest_vla.run.table import ERROR, UNSOLVED
from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    from pytest_vla.policies import PolicySource
    from pytest_vla.run import Record, Run

TIMEOUT_S = 600.0
LOOKS = "4"  # of an episode, spread over it


@contextmanager
def policy_of(run: Run, typed: str | None, trust: bool) -> Iterator[PolicySource]:
    """The policy of a run, asked as it was asked then; it lives in a server, as in a run with `-n`."""
    text = typed or run.policy.text
    if text in BUILTIN:
        raise ExplainError(
            f"policy '{text}' looks at no observation that could be changed: name one that does with --vla-policy=SPEC"
        )
    if typed is None:
        consent(trust, f"use the policy {text!r}", f"--vla-policy={shlex.quote(text)}")
    with opened(replace(Settings.from_dict(run.options).inference, policy=text, device=())) as source:
        yield source


@contextmanager
def opened(options: InferenceOptions) -> Iterator[PolicySource]:
    assert options.policy is not None
    workers = 1 if kind_of(options.policy).place == "server" else 0
    source, service = open_policy(options, TIMEOUT_S, workers)
    try:
        yield source
    finally:
        if service is not None:
            service.close()


def explain_run(
    source: PolicySource, run: Run, which: str, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Any] | None:
    """`--vla-explain`: episodes of a run that has just ended; the summary of them, None where nothing could be."""
    records = list(_episodes(run, which))
    if not records:
        return None
    folder = run.path.parent / FOLDER
    made, problems = [], []
    with Replayer(run, trust=True) as replayer:
        for number, record in enumerate(records, start=1):
            tell(f"explaining {number} of {len(records)}: {record.key}")
            try:
                episode = explain_episode(source, replayer, record, LOOKS, Wishes(units=(), lenient=True))
            except (ExplainError, SuiteError, RunFileError) as error:
                problems.append(str(error))
                continue
            made.append(write_episode(episode, folder))
    return {**summary(made), "problems": sorted(set(problems))}


def _episodes(run: Run, which: str) -> Iterator[Record]:
    """Those that are to be explained: unsolved ones first, of each task; errors and repeats never."""
    table = run.table
    rows = [row for row in range(len(table)) if table.outcome[row] != ERROR and not table.repeat[row]]
    rows.sort(key=lambda row: table.outcome[row] != UNSOLVED)
    counts: Counter[tuple[str, str]] = Counter()
    chosen = []
    for row in rows:
        cell = table.cells[table.cell[row]]
        counts[cell.suite, cell.task] += 1
        if table.outcome[row] == UNSOLVED if which == "unsolved" else counts[cell.suite, cell.task] <= int(which):
            chosen.append(row)
    yield from run.records(sorted(chosen))
