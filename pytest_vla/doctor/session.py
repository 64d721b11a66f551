"""Examinations that somebody asked for: by the command, or at the end of a run by `--vla-doctor`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_vla.doctor.examine import EPISODES, Doctor
from pytest_vla.doctor.findings import Examination
from pytest_vla.doctor.fresh import fresh_answers
from pytest_vla.inference.session import local_source
from pytest_vla.policies import PolicyError, PolicySource
from pytest_vla.policies.kinds import kind_of
from pytest_vla.registry import typed_suite
from pytest_vla.suite import Suite

if TYPE_CHECKING:
    from pytest_vla.options import InferenceOptions, Settings


def examine_typed(
    asked: InferenceOptions,
    suite_name: str,
    tasks: Sequence[str],
    partitions: Sequence[str],
    episodes: int = EPISODES,
    tell: Callable[[str], None] = lambda line: None,
) -> Examination:
    """What `pytest-vla doctor` does: the policy is loaded into this process."""
    suite = typed_suite(suite_name)
    missing = suite.missing()
    if missing is not None:
        raise PolicyError(f"suite '{suite.name}' needs {missing.module}: {missing.install}")
    source = local_source(asked)
    mismatch = source.spec.mismatch(suite, asked.conventions)
    if mismatch:
        raise PolicyError(f"policy '{asked.policy}' cannot act in suite '{suite.name}': {mismatch}")
    return _doctor(source, suite, asked, tasks, partitions, episodes, tell).examine()


def examine_run(source: PolicySource, settings: Settings, suites: Sequence[Suite]) -> list[Examination]:
    """At the end of a run, each suite that was run, by the policy as it was asked: over its servers, with `-n`."""
    found = []
    for suite in suites:
        if source.spec.mismatch(suite, settings.inference.conventions):
            continue
        tasks = [task for task in settings.run.task if task in suite.tasks()]
        partitions = [each for each in settings.run.partition if each in suite.partitions()]
        doctor = _doctor(source, suite, settings.inference, tasks, partitions, EPISODES, lambda line: None)
        found.append(replace(doctor, timeout=settings.run.timeout).examine())
    return found


def _doctor(
    source: PolicySource,
    suite: Suite,
    asked: InferenceOptions,
    tasks: Sequence[str],
    partitions: Sequence[str],
    episodes: int,
    tell: Callable[[str], None],
) -> Doctor:
    options: dict[str, Any] = {"trust": list(asked.trust_policy)}
    options["inference"] = {"policy": asked.policy, "preset": asked.preset, "conventions": dict(asked.conventions)}
    served = kind_of(asked.policy or "").place == "server"
    return Doctor(
        source,
        suite,
        tasks,
        partitions,
        episodes=episodes,
        fresh=fresh_answers(options) if served else lambda rows: None,
        tell=tell,
    )
