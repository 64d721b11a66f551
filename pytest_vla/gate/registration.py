"""Where a pytest session gets its gate, without importing one for the many runs that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_vla.gate.evidence import GateError
from pytest_vla.options import Settings

if TYPE_CHECKING:
    from pytest_vla.gate.plugin import GateHooks


def register_gate(config: pytest.Config, settings: Settings) -> GateHooks | None:
    """Add a gate's hooks where they have something to do; rules or a baseline that cannot be used end the run here.

    Where syrupy is active its snapshots get our two kinds as well.
    """
    if config.pluginmanager.hasplugin("syrupy"):
        config.pluginmanager.import_plugin("pytest_vla.gate.snapshots")
    if not (settings.gate.gating or settings.run.shard) or config.option.help:
        return None
    from pytest_vla.gate.plugin import GateHooks

    try:
        hooks = GateHooks(config, settings)
    except GateError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(hooks, "vla-gate")
    return hooks
