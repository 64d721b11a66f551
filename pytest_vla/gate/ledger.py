"""Which verdicts were given before: running again until it passes is seen, and every further try needs more proof."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.rules import Rules
from pytest_vla.run import Run, Table, run_path

FIRST_SHARE = 0.8  # of the error rate goes to the first verdict, of what is left as much to the second, and so on
SUFFIX = ".ledger.jsonl"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Case:
    """What a verdict is about: who is judged by what, on which cells (whichever their episodes); and by which run."""

    question: str
    run: str

    @classmethod
    def of(cls, run: Run, rules: Rules, cells: Iterable[Cell], tables: Mapping[str, Table]) -> Case:
        policy = run.policy
        who = [policy.digest or policy.text, policy.horizon, policy.ensemble, policy.batch]
        baselines = {name: _content(table) for name, table in sorted(tables.items())}
        question = _digest([who, rules.to_dict(), baselines, sorted(map(list, cells))])
        return cls(question, _digest(run.provenance))


@dataclass(frozen=True, slots=True)
class Ledger:
    """A file with one line per verdict."""

    path: Path

    def attempt(self, case: Case) -> int:
        """The how manieth verdict on this case it is; a run that is judged again, or went on, keeps its place."""
        runs = list(dict.fromkeys(line["run"] for line in self._lines() if line["question"] == case.question))
        return (runs.index(case.run) if case.run in runs else len(runs)) + 1

    def record(self, case: Case, verdict: str) -> None:
        line = {"question": case.question, "run": case.run, "verdict": verdict}
        if line in self._lines():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(line) + "\n")
        except OSError as error:
            raise GateError(f"cannot write the ledger '{self.path}': {error.strerror or error}") from None

    def _lines(self) -> list[dict[str, Any]]:
        try:
            lines = [json.loads(text) for text in self.path.read_text(encoding="utf-8").splitlines()]
            return [{name: line[name] for name in ("question", "run", "verdict")} for line in lines]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GateError(f"the ledger '{self.path}' is damaged ({error}): take an undamaged copy") from None


def open_ledger(named: str | None, baseline: str | Path | None) -> Ledger | None:
    """The ledger that was named, or the one that somebody keeps beside the baseline."""
    if named is not None:
        return None if named == NONE else Ledger(Path(named))
    if baseline is None:
        return None
    path = run_path(baseline)
    beside = path.with_name(path.stem + SUFFIX)
    return Ledger(beside) if beside.exists() else None


def spent(attempt: int) -> float:
    """The share of the error rate that this verdict may use; all of them together use no more than the whole."""
    return FIRST_SHARE * (1 - FIRST_SHARE) ** (attempt - 1)


def _content(table: Table) -> str:
    """What a baseline says, wherever it is kept."""
    once = table.once()
    once = once.arranged(sorted(once.cells))
    columns = b"".join(column.tobytes() for column in (once.cell, once.index, once.outcome))
    return hashlib.blake2b(repr(once.cells).encode() + columns, digest_size=12).hexdigest()


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()
