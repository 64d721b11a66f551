"""A gate while its run is under way: results in any order, taken up in episode order, each looked at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from pytest_vla.episode import Cell
from pytest_vla.gate.comparisons import (
    LEAST_SHARED,
    LEFT_OUT,
    OUTCOMES,
    REPRODUCIBLE,
    Scope,
    error_code,
    outcome_codes,
    planned_share,
)
from pytest_vla.gate.evidence import Verdict
from pytest_vla.gate.planning import Alphas
from pytest_vla.gate.questions import THRESHOLD, Question, questions
from pytest_vla.gate.rules import Rules
from pytest_vla.gate.samples import Outcome, least, most
from pytest_vla.gate.sequential import Looks, Match
from pytest_vla.run import Partners, Record, Table, Why
from pytest_vla.run.table import ERROR

Step = tuple[float, float]  # an outcome, or a difference of two, at its worst and at its best


class Watch:
    """Every question of a gate; says which cells need no more episodes."""

    def __init__(self, rules: Rules, scope: Scope, tables: Mapping[str, Table], share: float = 1.0) -> None:
        """`share` is that of the error rate which is left for passing."""
        alphas = (share * rules.alpha, rules.alpha / max(scope.comparisons, 1))
        partners = {name: Partners(table) for name, table in tables.items()}
        self._watched: dict[Cell, list[_Watched]] = {}
        self._settled: dict[Cell, Verdict] = {}
        for question in questions(scope.cells, rules, list(tables)):
            watched = _Watched(question, scope, alphas, partners.get(question.against))
            for cell in question.cells:
                self._watched.setdefault(cell, []).append(watched)

    def add(self, record: Record) -> Iterable[tuple[Cell, Verdict, int]]:
        """Take a result in; the cells that it settles, with the answer and after how many episodes."""
        mine = self._watched.get(record.cell, [])
        for watched in mine:
            watched.add(record)
        touched = {cell for watched in mine if watched.looks.stopped for cell in watched.question.cells}
        for cell in sorted(touched - self._settled.keys()):
            verdict, used = self._answer(cell)
            if verdict is not None:
                self._settled[cell] = verdict
                yield cell, verdict, used

    def _answer(self, cell: Cell) -> tuple[Verdict | None, int]:
        """Decided once every question about the cell has stopped, or one of them has failed."""
        looks = [watched.looks for watched in self._watched[cell]]
        used = max((look.used for look in looks if look.stopped), default=0)
        if any(look.stopped is Verdict.FAIL for look in looks):
            return Verdict.FAIL, used
        return (Verdict.PASS, used) if all(look.stopped for look in looks) else (None, used)


class _Watched:
    """One question: per task a queue of outcomes in episode order; a round is looked at when every task has one."""

    def __init__(self, question: Question, scope: Scope, alphas: Alphas, partners: Partners | None) -> None:
        self.question, self.scope, self.alphas, self.partners = question, scope, alphas, partners
        self.paired = partners is not None and _mostly_shared(question, scope, partners)
        self._known: dict[Cell, list[int]] = {cell: [] for cell in question.cells}
        self._waiting: dict[Cell, dict[int, Record]] = {cell: {} for cell in question.cells}
        self._restart()

    def add(self, record: Record) -> None:
        if self.looks.stopped:
            return
        cell = record.cell
        known, waiting = self._known[cell], self._waiting[cell]
        waiting[record.key.index] = record
        while (following := waiting.pop(self.scope.first + len(known), None)) is not None:
            code = int(following.solved) if following.measured else error_code(following.result.reason)
            known.append(code)
            if not self.paired:
                self._take(cell, self._step(cell, code))
            elif self._same_scene(following):
                self._take(cell, self._paired_step(following, code))
            else:
                self._unpair()

    def _take(self, cell: Cell, step: Step | None) -> None:
        if step is None:
            return
        self._steps[cell].append(step)
        if all(self._steps.values()):
            steps = [queue.popleft() for queue in self._steps.values()]
            self.looks.add([worst for worst, _ in steps], [best for _, best in steps])

    def _step(self, cell: Cell, code: int) -> Step | None:
        """What an outcome adds by itself, or next to one of the baseline's; None where it is not counted."""
        if code == LEFT_OUT:
            return None
        new = OUTCOMES[code]
        if self.partners is None:
            return least([new])[0], most([new])[0]
        return _difference(self._old[cell].popleft(), new) if self._old[cell] else None

    def _same_scene(self, record: Record) -> bool:
        assert self.partners is not None
        row = self.partners.row(record)
        return row is None or self.partners.why(record, row) not in (Why.UNSEEDED, Why.MADE_WITH, Why.SCENE)

    def _paired_step(self, record: Record, code: int) -> Step | None:
        assert self.partners is not None
        row, table = self.partners.row(record), self.partners.table
        if row is None:
            return None
        before = int(self._codes[row])
        reason = table.reasons[table.reason[row]] if table.outcome[row] == ERROR else ""
        if LEFT_OUT in (code, before) or reason == record.result.reason == REPRODUCIBLE:
            return None
        return _difference(OUTCOMES[before], OUTCOMES[code])

    def _unpair(self) -> None:
        """Scenes differ: begin again with what is known, as independent outcomes."""
        self.paired = False
        self._restart()
        for cell, codes in self._known.items():
            for code in codes:
                self._take(cell, self._step(cell, code))

    def _restart(self) -> None:
        difference = self.question.against != THRESHOLD
        match = (Match.of_difference if difference else Match.of_rate)(self.question.bounds)
        self.looks = Looks(match, len(self.question.cells), *self.alphas)
        self._steps: dict[Cell, deque[Step]] = {cell: deque() for cell in self.question.cells}
        if self.partners is None:
            return
        table = self.partners.table
        self._codes = outcome_codes(table)
        self._old = {
            cell: deque(OUTCOMES[code] for code in self._codes[_rows(table, cell)].tolist() if code != LEFT_OUT)
            for cell in self.question.cells
        }


def _mostly_shared(question: Question, scope: Scope, partners: Partners) -> bool:
    indices = {cell: partners.table.index[_rows(partners.table, cell)].tolist() for cell in question.cells}
    shared, total = planned_share(question.cells, scope, indices) or (0, 0)
    return shared >= LEAST_SHARED * total


def _rows(table: Table, cell: Cell) -> list[int]:
    number = table.cells.index(cell) if cell in table.cells else -1
    found: list[int] = (table.cell == number).nonzero()[0].tolist()
    return found


def _difference(old: Outcome, new: Outcome) -> Step:
    return least([new])[0] - most([old])[0], most([new])[0] - least([old])[0]
