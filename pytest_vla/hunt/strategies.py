"""Perturbations as Hypothesis strategies, for property tests of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.hunt.ledger import FOLDER, open_database
from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation, resolve

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy

PROFILE = "vla"
MOST_OFF = 2 / 3
"""Of the axes: a third is off on average. Denser, and everything fails at once; sparser, and pairs are never met."""


def perturbations(
    axes: str | Sequence[str] = ("all",), *, min_axes: int = 0, max_axes: int | None = None
) -> SearchStrategy[Perturbation]:
    """Perturbations of these axes or groups, as `vla.perturbations` offers them."""
    from hypothesis import strategies as st

    names = resolve([axes] if isinstance(axes, str) else list(axes))
    most = max_axes if max_axes is not None else max(1, round(MOST_OFF * len(names)))
    off = st.lists(
        st.tuples(st.sampled_from(names), st.integers(1, MAX_LEVEL), st.booleans()),
        min_size=min_axes,
        max_size=min(most, len(names)),
        unique_by=lambda axis: axis[0],
    )
    return off.map(
        lambda axes: Perturbation.of((name, -far if back and AXES[name].signed else far) for name, far, back in axes)
    )


def levels_of(axis: str) -> SearchStrategy[Perturbation]:
    """One axis alone, at any level."""
    from hypothesis import strategies as st

    least = -MAX_LEVEL if AXES[axis].signed else 0
    return st.integers(least, MAX_LEVEL).map(lambda level: Perturbation.of({AXES[axis].name: level}))


def profile(database: Path = FOLDER) -> settings:
    """Settings for rollouts inside `@given`: no deadline, no explain phase, a database that CI keeps too.

    Hypothesis's own `ci` profile has no database, and its explain phase costs hundreds of rollouts a failure.
    """
    from hypothesis import HealthCheck, Phase, settings

    made = settings(
        deadline=None,
        database=open_database(database),
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large),
        report_multiple_bugs=False,
    )
    settings.register_profile(PROFILE, made)
    return made
