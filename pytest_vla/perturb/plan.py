"""Which perturbations a run was asked for: every one next to the same episodes unperturbed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from pytest_vla.perturb.axes import AXES, CONTRADICTION
from pytest_vla.perturb.axis import PerturbationError, UnknownAxis
from pytest_vla.perturb.perturbation import Perturbation
from pytest_vla.suggest import unknown

if TYPE_CHECKING:
    from pytest_vla.options import RobustnessOptions
    from pytest_vla.suite import Suite


def planned_perturbations(options: RobustnessOptions) -> list[str]:
    """The perturbations of each episode, the control (none) first; bad ones are one usage error."""
    try:
        return _planned(options)
    except PerturbationError as error:
        raise pytest.UsageError(str(error)) from None


def check_readable(options: RobustnessOptions, *, own_suites: bool) -> None:
    """What cannot be read is said before anything is collected, except axes that suites of the user's own may bring."""
    try:
        _planned(options)
    except UnknownAxis as error:
        if not own_suites:
            raise pytest.UsageError(str(error)) from None
    except PerturbationError as error:
        raise pytest.UsageError(str(error)) from None


def _planned(options: RobustnessOptions) -> list[str]:
    asked: list[Perturbation] = [Perturbation()]
    if options.perturb is not None:
        try:
            asked.append(Perturbation.parse(options.perturb))
        except PerturbationError as error:
            raise type(error)(f"--vla-perturb: {error}") from None
    for axis in options.sweep:
        if axis not in AXES:
            raise UnknownAxis(f"--vla-sweep: {unknown('axis', axis, list(AXES))}")
        asked += [Perturbation.of({axis: level}) for level in AXES[axis].levels]
    if options.language_check:
        asked.append(Perturbation.of({CONTRADICTION: 1}))
    return list(dict.fromkeys(map(str, asked)))


def check_supported(options: RobustnessOptions, suites: Iterable[Suite]) -> None:
    """Every suite of the run must support every axis that was asked for."""
    for text in planned_perturbations(options):
        for suite in suites:
            try:
                Perturbation.parse(text).check(suite)
            except PerturbationError as error:
                raise pytest.UsageError(str(error)) from None
