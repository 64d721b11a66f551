"""Reads what follows `gym:` and makes the suite of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    from .benchmark import GymSuite


def suite(name: str) -> GymSuite:
    """The suite of `gym[+ENVIRONMENT]:[MODULE:]ID[?NAME=VALUE&...]`."""
    from .benchmark import GymSuite

    family, _, text = name.partition(":")
    text = text.replace("%2F", "/")
    if not text.partition("?")[0]:
        raise SuiteError(f"write gym:ID, such as gym:FetchReach-v4, got {name!r}")
    return GymSuite(name, family.partition("+")[2], text)
