"""What a gate asks for: the `[tool.pytest_vla.gate]` table, checked and frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from pytest_vla.episode import Cell
from pytest_vla.gate.evidence import Bounds, GateError
from pytest_vla.registry import get_suite, suite_names
from pytest_vla.suggest import unknown
from pytest_vla.suite import SuiteError

TABLE = "tool.pytest_vla.gate"
By = Literal["task", "partition", "suite", "two-level"]
LEVELS: tuple[By, ...] = ("task", "partition", "suite", "two-level")
Group = Cell  # with '*' where a comparison pools over all tasks or partitions


@dataclass(frozen=True, slots=True)
class Rules:
    """The questions of a gate and the confidence of its answers.

    `success` maps patterns `suite[/task[/partition]]` to the rates that are asked for. `margin` is how much worse than
    the baseline still passes (or, with `superiority`, how much better a policy may be and still fail). `by` says what
    one comparison is about: a task in a partition, a partition, a suite, or `two-level`: a partition, and no single
    task of it proven worse. None leaves it to the partition: two-level against a baseline where it has many tasks, else
    task. `metrics` are rules about what is measured of answers, such as `format_invalid_rate < 0.01`.
    """

    success: tuple[tuple[str, Bounds], ...] = ()
    margin: float = 0.1
    confidence: float = 0.95
    superiority: bool = False
    by: By | None = None
    metrics: tuple[str, ...] = ()

    @property
    def alpha(self) -> float:
        return round(1 - self.confidence, 12)  # 1 - 0.95 is a little more than 0.05

    def baseline_bounds(self) -> Bounds:
        """The bounds on the new rate minus the baseline's."""
        return Bounds(0.0, self.margin) if self.superiority else Bounds(-self.margin, 0.0)

    @property
    def success_by(self) -> By:
        """What one threshold is about."""
        return self.by if self.by in ("partition", "suite") else "task"

    def success_bounds(self, group: Group) -> Bounds | None:
        """The rates asked of a group: those of the pattern that names most of it, the last one among equals."""
        best: tuple[int, Bounds] | None = None
        for pattern, bounds in self.success:
            parts = pattern.split("/")
            literal = sum("*" not in part for part in parts)
            if all(map(fnmatchcase, group, parts)) and (best is None or literal >= best[0]):
                best = (literal, bounds)
        return best[1] if best else None

    def to_dict(self) -> dict[str, Any]:
        """The table this came from, for the run file."""
        success = {pattern: [bounds.low, bounds.high] for pattern, bounds in self.success}
        return {**{field.name: getattr(self, field.name) for field in fields(self)}, "success": success}


def read_rules(table: Mapping[str, Any]) -> Rules:
    """The rules a table spells out; whatever is wrong with it is one GateError that says what to write instead."""
    known = [field.name for field in fields(Rules)]
    for name in table:
        if name not in known:
            raise GateError(unknown("option", name, known, f"in [{TABLE}]"))
    margin = _share(table.get("margin", Rules().margin), "margin")
    confidence = _share(table.get("confidence", Rules().confidence), "confidence")
    if not 0.5 <= confidence < 1:
        raise GateError(f"[{TABLE}] confidence must be at least 0.5 and below 1 (such as 0.95), got {confidence:g}")
    superiority = table.get("superiority", False)
    if not isinstance(superiority, bool):
        raise GateError(f"[{TABLE}] superiority must be true or false, got {superiority!r}")
    by = table.get("by")
    if by is not None and by not in LEVELS:
        raise GateError(f"[{TABLE}] by must be one of {', '.join(LEVELS)}, got {by!r}")
    metrics = _read_metrics(table.get("metrics", []))
    return Rules(_read_success(table.get("success", {})), margin, confidence, superiority, by, metrics)


def check_rules(rules: Rules, cells: Iterable[tuple[str, str, str]]) -> None:
    """Every pattern must name a (suite, task, partition) there is: a threshold nobody meets would guard nothing.

    There are those of the run, and all those of installed suites: one pyproject.toml serves runs of different suites.
    """
    cells = list(cells)
    cells += _installed({cell[0] for cell in cells} | {pattern.split("/")[0] for pattern, _ in rules.success})
    for pattern, _ in rules.success:
        left = cells
        parts = [*pattern.split("/"), "*", "*"]
        for place, kind in enumerate(("suite", "task", "partition")):
            names = list(dict.fromkeys(cell[place] for cell in left))
            left = [cell for cell in left if fnmatchcase(cell[place], parts[place])]
            if not left:
                raise GateError(unknown(kind, parts[place], names, f"in [{TABLE}.success] '{pattern}'"))
        too_fine = {"task": (), "partition": parts[1:2], "suite": parts[1:3]}[rules.success_by]
        if any(part != "*" for part in too_fine):
            raise GateError(
                f'[{TABLE}.success] \'{pattern}\' is finer than by = "{rules.by}": write * in its place, or by = "task"'
            )


def _installed(names: set[str]) -> list[tuple[str, str, str]]:
    found = []
    for name in sorted(names & set(suite_names())):
        try:
            found += [(name, *cell) for cell in get_suite(name).cells()]
        except SuiteError:  # a run file of a suite that is broken here can be judged all the same
            continue
    return found


def _read_success(table: Any) -> tuple[tuple[str, Bounds], ...]:
    if isinstance(table, (int, float)) and not isinstance(table, bool):
        table = {"*": table}
    if not isinstance(table, Mapping):
        raise GateError(f'[{TABLE}] success must be a rate or a table such as {{"suite/task" = 0.8}}, got {table!r}')
    rules = []
    for pattern, value in table.items():
        where = f"success.'{pattern}'"
        if not 1 <= len(pattern.split("/")) <= 3 or not all(pattern.split("/")):
            raise GateError(f"[{TABLE}] {where}: write suite, suite/task or suite/task/partition")
        if isinstance(value, (list, tuple)):
            if len(value) != 2:
                raise GateError(f"[{TABLE}] {where} must be a rate, or a pair [too low, high enough], got {value!r}")
            low, high = (_share(number, where) for number in value)
            if low > high:
                raise GateError(f"[{TABLE}] {where}: the first rate must not be above the second, got {value!r}")
        else:
            low = high = _share(value, where)
        rules.append((pattern, Bounds(low, high)))
    return tuple(rules)


def _read_metrics(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise GateError(f'[{TABLE}] metrics must be a list such as ["format_invalid_rate < 0.01"], got {value!r}')
    return tuple(value)


def _share(value: Any, where: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise GateError(f"[{TABLE}] {where} must be a number between 0 and 1, got {value!r}")
    return float(value)
