"""Which suites there are: shipped folders, entry points of packages, the user's own objects."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pytest_vla.suggest import unknown
from pytest_vla.suite import Suite, SuiteError

ENTRY_POINT_GROUP = "pytest_vla.suites"
FAMILY_GROUP = "pytest_vla.suite_families"

_registered: dict[str, Suite] = {}


def register(suite: Suite) -> Suite:
    """Make a suite object known under its name, as `@vla.benchmark(suite)` does, and the axes that it brings."""
    if suite.own_axes:
        from pytest_vla.perturb import add_axes

        add_axes(suite.own_axes)
    _registered[suite.name] = suite
    return suite


def get_suite(name: str) -> Suite:
    """The suite of that name: the user's own first, then shipped ones, then those of installed packages."""
    name = canonical(name)
    if name in _registered:
        return _registered[name]
    finders = _discover()
    if name not in finders:
        raise SuiteError(unknown("suite", name, [*suite_names(), *(f"{each}:..." for each in _families())]))
    return register(_loaded(name, lambda: finders[name].load()()))


def typed_suite(name: str) -> Suite:
    """The suite that a person named. `FAMILY:WHAT` may run code, which no name in a data file does: see `get_suite`."""
    name = canonical(name)
    family = family_of(name)
    if name in _registered or family not in _families():
        return get_suite(name)
    return register(_loaded(name, lambda: _families()[family].load()(name)))


def takes_trust(suite: str, builtin_policy: bool) -> bool:
    """Whether running an episode again means to use what its run file names: a policy, or the file of a suite."""
    return not (builtin_policy and suite in _discover())


def _loaded(name: str, make: Callable[[], Suite]) -> Suite:
    try:
        return make()
    except SuiteError:
        raise
    except Exception as error:
        raise SuiteError(f"suite '{name}' cannot be loaded: {type(error).__name__}: {error}") from error


def canonical(name: str) -> str:
    """A suite's name as keys and run files have it: the slashes of a path are escaped, since SUITE/TASK has one too."""
    return name.replace("/", "%2F") if ":" in name else name


def family_of(name: str) -> str:
    """The family of a suite that is named by what it is made from, as `FAMILY:...` or `FAMILY+ENVIRONMENT:...`."""
    family, colon, _ = name.partition(":")
    family = family.partition("+")[0]
    return family if colon or family in _families() else ""


def members(family: str) -> list[str]:
    """The suites of a family that were named in this run."""
    return [name for name in _registered if ":" in name and family_of(name) == family]


def get_suites(names: Iterable[str] = ()) -> list[Suite]:
    """The named suites; without names every one that loads, so that a broken package costs only its own suite."""
    names = list(names)
    if names:
        return [get_suite(name) for name in names]
    suites = []
    for name in suite_names():
        try:
            suites.append(get_suite(name))
        except SuiteError as error:
            warnings.warn(str(error), stacklevel=2)
    return suites


def suite_names() -> list[str]:
    """Every suite that can be named, without importing any."""
    return sorted({*_registered, *_discover()})


@dataclass(frozen=True, slots=True)
class _Shipped:
    """A folder of ours, found like a third party's entry point: `suites/NAME` has a `suite()` factory."""

    name: str

    def load(self) -> Any:
        return importlib.import_module(f"pytest_vla.suites.{self.name}").suite


@cache
def _families() -> dict[str, Any]:
    """What makes suites from a text: a folder of ours with a `family.py`, or an entry point; called with the name."""
    found: dict[str, Any] = {point.name: point for point in entry_points(group=FAMILY_GROUP)}
    return found | {folder.name: _Shipped(f"{folder.name}.family") for folder in _folders() if _makes_suites(folder)}


def _makes_suites(folder: Path) -> bool:
    return (folder / "family.py").is_file()


def _folders() -> list[Path]:
    package = importlib.util.find_spec("pytest_vla.suites")
    locations = (package.submodule_search_locations or ()) if package else ()
    return [
        folder
        for location in locations
        for folder in sorted(Path(location).iterdir())
        if (folder / "__init__.py").is_file()
    ]


@cache
def _discover() -> dict[str, Any]:
    found: dict[str, Any] = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    return found | {folder.name: _Shipped(folder.name) for folder in _folders() if not _makes_suites(folder)}


@cache
def shipped_test_modules() -> dict[str, str]:
    """The test files of the suites in this package, with their module names, without importing them."""
    package = importlib.util.find_spec("pytest_vla.suites")
    folders = (package.submodule_search_locations or ()) if package else ()
    files = [path for folder in folders for path in sorted(Path(folder).glob("*/test_*.py"))]
    return {str(path): f"pytest_vla.suites.{path.parent.name}.{path.stem}" for path in files}
