"""Whether the tests would notice: change one thing at a time in a module, and see which changes no test objects to.

    python -m benchmarks.mutation [TARGET ...] [--every N]

A target is a row of TARGETS. Each mutant is tried in a fork that runs the row's tests until the first failure. What
is changed: comparisons, arithmetic, `and` and `or`, conditions, numbers, names and keys in quotes, returned values,
and calls for their effect. Sentences are left alone: the wording of a message is no behaviour.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import chain, islice
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "pytest_vla"
WANTED = 0.85
PATIENCE = (4.0, 10.0)
"""A mutant may take so many times as long as the module itself, and so many seconds more."""
PROFILE = "mutation"
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--hypothesis-profile={PROFILE}")


@dataclass(frozen=True)
class Target:
    """Modules, and the quick tests that cover them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


TARGETS = {
    "hunt": Target(
        tuple(
            f"hunt/{name}.py"
            for name in (
                "search",
                "shrink",
                "suspects",
                "effects",
                "conditions",
                "measure",
                "history",
                "draw",
                "brittleness",
            )
        ),
        tuple(
            f"tests/hunt/test_hunt_{name}.py"
            for name in ("suspects", "draw", "effects", "conditions", "measure", "search")
        ),
    ),
    "run": Target(("run/*.py",), ("tests/run", "tests/gate/test_flips.py")),
    "exact": Target(("gate/exact.py",), ("tests/gate/test_exact_values.py", "tests/gate/test_exact.py")),
    "sequential": Target(
        ("gate/sequential.py",),
        ("tests/gate/test_sequential.py", "tests/gate/test_sequential_values.py", "tests/gate/test_rounds.py"),
    ),
    "comparisons": Target(
        ("gate/comparisons.py",),
        tuple(
            f"tests/gate/test_{name}.py"
            for name in ("comparisons", "gate_schedule", "guarantee", "rounds", "two_level")
        ),
    ),
}

# --- mutants ----------------------------------------------------------------------------------------------------------

PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)),
)
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    **dict(PAIRS),
    **{b: a for a, b in PAIRS},
}


@dataclass(frozen=True)
class Mutant:
    path: Path
    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.path.relative_to(REPOSITORY)}:{self.line}: {self.before}  ->  {self.after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All single changes of a module, from top to bottom."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for place, node in enumerate(_code(tree)):
        for number in range(len(_changes(node))):
            changed = copy.deepcopy(tree)
            twin = list(_code(changed))[place]
            before = ast.unparse(twin).partition("\n")[0]
            _changes(twin)[number]()
            line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
            yield Mutant(path, line, before, ast.unparse(twin).partition("\n")[0], changed)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is run: no annotations, decorators, imports, doc strings, nor what only type checkers read."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_silent(child):
                yield child
                yield from _code(child)


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr))


def _changes(node: ast.AST) -> list[Callable[[], None]]:
    """The ways to change this node in place."""

    def put(name: str, value: object) -> Callable[[], None]:
        return partial(setattr, node, name, value)

    match node:
        case ast.Compare(ops=ops):
            return [partial(ops.__setitem__, i, SWAPS[type(op)]()) for i, op in enumerate(ops)]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
            return [put("op", SWAPS[type(op)]())]
        case ast.UnaryOp(op=op, operand=operand):
            return [put("operand", ast.UnaryOp(op, operand))]  # twice is not at all
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _is_flag(test):
            return [put("test", ast.UnaryOp(ast.Not(), test))]
        case ast.comprehension(ifs=[condition, *_]) if not _is_flag(condition):
            return [partial(node.ifs.__setitem__, 0, ast.UnaryOp(ast.Not(), condition))]
        case ast.Constant(value=bool(value)):
            return [put("value", not value)]
        case ast.Constant(value=int(value) | float(value)):
            return [put("value", value + 1)]
        case ast.Constant(value=str(value)) if value.isidentifier():
            return [put("value", f"{value}X")]
        case ast.Return(value=ast.AST() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            return [put("value", ast.Constant(None))]
        case ast.Expr(value=ast.Call()):
            return [put("value", ast.Constant(None))]
    return []


def _is_flag(condition: ast.expr) -> bool:
    """`while True`, or a `not` that is undone by itself anyway."""
    return isinstance(condition, ast.Constant | ast.UnaryOp)


# --- trials -----------------------------------------------------------------------------------------------------------


def begin(tests: Sequence[str], mutant: Mutant | None) -> int:
    """Run the tests with the mutant in a fork; the process."""
    process = os.fork()
    if process:
        return process
    os.setsid()
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    import pytest

    status = 1
    try:
        if mutant is not None:
            import_mutated(mutant)
        status = int(pytest.main([*tests, *OPTIONS]))
    finally:
        os._exit(status)


def import_mutated(mutant: Mutant) -> None:
    """Import the module with the change in it, before anybody else imports it."""
    get_code = SourceFileLoader.get_code

    def mutated(loader: SourceFileLoader, name: str) -> object:
        if Path(loader.path) != mutant.path:
            return get_code(loader, name)
        return compile(ast.fix_missing_locations(mutant.tree), loader.path, "exec")

    SourceFileLoader.get_code = mutated  # type: ignore[assignment,method-assign]
    name = ".".join(mutant.path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
    importlib.import_module(name)
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def nearest_first(tests: Sequence[str], module: Path) -> list[str]:
    """The test files, those that are named like the module before the others: most mutants die there."""
    files = chain.from_iterable(
        sorted(path.glob("test_*.py")) if path.is_dir() else [path] for path in map(REPOSITORY.joinpath, tests)
    )
    return [str(path) for path in sorted(files, key=lambda path: module.stem not in path.stem)]


def end(process: int, limit_s: float) -> int | None:
    """Its exit status; None when the time was up."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def try_target(name: str, target: Target, every: int) -> float:
    """Print who survived; the share of mutants that did not."""
    start = time.monotonic()
    if end(begin(target.tests, None), 600) != 0:
        sys.exit(f"{name}: its tests fail or take more than ten minutes as they are: {' '.join(target.tests)}")
    limit_s = PATIENCE[0] * (time.monotonic() - start) + PATIENCE[1]
    modules = [path for pattern in target.modules for path in sorted(PACKAGE.glob(pattern))]
    tried = killed = 0
    for mutant in islice(chain.from_iterable(map(mutants, modules)), 0, None, every):
        tried += 1
        if end(begin(nearest_first(target.tests, mutant.path), mutant), limit_s) == 0:
            print(f"survived: {mutant}", flush=True)
        else:
            killed += 1
    share = killed / max(tried, 1)
    minutes = (time.monotonic() - start) / 60
    print(f"{name}: {killed} of {tried} mutants killed ({share:.0%}) in {minutes:.0f} min", flush=True)
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try every N-th mutant only")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    os.chdir(REPOSITORY)
    import gymnasium  # noqa: F401  what forks need anyway, imported once
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    from hypothesis import Phase, settings

    # The same examples every time, and none made smaller: that a test fails is all that is asked.
    phases = set(Phase) - {Phase.shrink, Phase.explain}
    settings.register_profile(PROFILE, deadline=None, derandomize=True, phases=phases)

    shares = [try_target(name, TARGETS[name], options.every) for name in options.targets or TARGETS]
    return int(any(share < WANTED for share in shares))


if __name__ == "__main__":
    sys.exit(main())
