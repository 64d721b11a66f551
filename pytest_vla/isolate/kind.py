"""How `--vla-policy` takes a policy in an environment of its own; light, so that help can list it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.policies.kinds import Kind

if TYPE_CHECKING:
    from pytest_vla.policies.source import SharedSource


def _load(text: str) -> SharedSource:
    from pytest_vla.isolate.policy import load

    return load(text)


KIND = Kind(
    "env:NAME:MODULE:FACTORY",
    "a function or class in an environment of its own (`pytest-vla install NAME`), away from these packages",
    lambda text: text.startswith("env:"),
    _load,
)
