"""How `--vla-policy` takes a language model that is shown demonstrations; light, so that help can list it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.policies.kinds import Kind

if TYPE_CHECKING:
    from pytest_vla.policies.source import SharedSource


def _load(text: str) -> SharedSource:
    from .in_context import load

    return load(text)


KIND = Kind(
    "xicm:http://HOST/v1?model=NAME&demos=FOLDER",
    "a language model that is shown demonstrations of seen tasks (AGNOSTOS), by X-ICM's method",
    lambda text: text.startswith("xicm:"),
    _load,
    install="pytest-vla[incontext]",
    place="elsewhere",
)
