"""What is settled and said before the first episode: how a resumed run was asked, what is converted or ignored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies import PolicySource, SharedSource
from pytest_vla.policies.kinds import kind_of
from pytest_vla.registry import get_suite, suite_names
from pytest_vla.run import read_run
from pytest_vla.run.writer import is_unborn


def in_mode_of_before(config: pytest.Config, settings: Settings, file: Path) -> Settings:
    """A resumed run is asked as it was before, unless this command says otherwise."""
    typed = config.option.vla_deterministic or config.option.vla_no_deterministic or config.option.vla_batch
    if not settings.run.resume or typed or not file.exists() or is_unborn(file):
        return settings
    then = Settings.from_dict(read_run(file).options).inference
    inference = replace(settings.inference, deterministic=then.deterministic, batch=then.batch)
    return replace(settings, inference=inference)


def say_loading(config: pytest.Config, policy: str) -> None:
    """A model may take minutes to load, before pytest has said anything."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity >= 0 and kind_of(policy).place != "env":
        reporter.write_line(f"vla: loading policy {policy} ...")


def converted(source: PolicySource, suites: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What is converted between the policy and each suite that was named."""
    from pytest_vla.policies.conventions.conversion import applied

    if not isinstance(source, SharedSource):
        return {}
    known = [name for name in suites if name in suite_names()]
    spec, corrections = source.spec.conventions, source.corrections
    return {name: lines for name in known if (lines := applied(spec, get_suite(name), corrections))}


def ignored(asked: InferenceOptions) -> list[str]:
    """Options that were given and change nothing here."""
    if asked.policy is None or kind_of(asked.policy).place != "env":
        return []
    given: dict[str, Any] = {"--vla-device": asked.device, "--vla-batch": asked.batch}
    given |= {"--vla-dtype": asked.dtype, "--vla-compile": asked.compile}
    given |= {"--vla-horizon": asked.horizon, "--vla-preset": asked.preset}
    names = [name for name, value in given.items() if value]
    return [f"vla: {name} is ignored: policy '{asked.policy}' is no model" for name in names]
