"""Reads what follows `vla_eval:` and makes the suite of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    from .benchmark import VlaEvalSuite


def suite(name: str) -> VlaEvalSuite:
    """The suite of `vla_eval[+ENVIRONMENT]:MODULE:CLASS[?NAME=VALUE&...]` or `vla_eval[+ENVIRONMENT]:CONFIG.yaml`."""
    from .benchmark import VlaEvalSuite

    environment, _, text = name.partition(":")
    text = text.replace("%2F", "/")
    plain = text.partition("?")[0]
    if not plain.endswith((".yaml", ".yml")) and plain.count(":") != 1:
        raise SuiteError(f"write vla_eval:MODULE:CLASS or vla_eval:CONFIG.yaml, got {name!r}")
    return VlaEvalSuite(name, environment, text)
