"""Whether a model file may run code: only what a person named, or what is installed here in order to be a policy."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points, packages_distributions

from pytest_vla.policies.base import PolicyError

EVERYTHING = "all"
OPTION = "--vla-trust-policy"
REGISTERED = ("pytest_vla.policy_kinds", "pytest_vla.suites", "pytest_vla.suite_families")

_trusted: frozenset[str] = frozenset()


def trust(names: Iterable[str]) -> None:
    """Say whose code model files may run in this process: modules, files or folders by name, or `all`."""
    global _trusted
    _trusted = frozenset(names)


def trusted() -> tuple[str, ...]:
    """The names, for a process that is started from this one."""
    return tuple(sorted(_trusted))


def is_trusted(name: str) -> bool:
    return not _trusted.isdisjoint({EVERYTHING, name, name.rstrip("/")})


def ask_for(name: str, what: str) -> None:
    """PolicyError unless the code of that name may run; `what` says why it would."""
    if not is_trusted(name):
        raise PolicyError(f"{what}. If you trust its author, add {OPTION}={name}")


def is_registered(module: str) -> bool:
    """Whether a module is ours, or of an installed package that offers policies or suites by an entry point."""
    top = module.partition(".")[0]
    if top == "pytest_vla":
        return True
    offering = {point.dist.name for group in REGISTERED for point in entry_points(group=group) if point.dist}
    return not offering.isdisjoint(packages_distributions().get(top, ()))
