"""Benchmarks of robot policies as pytest suites."""

from pytest_vla._version import __version__
from pytest_vla.benchmark import benchmark
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.evaluate import evaluate, films, scalars
from pytest_vla.hunt.lazy import perturbations
from pytest_vla.hunt.mark import hunt
from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.registry import register, suite_names
from pytest_vla.registry import typed_suite as get_suite
from pytest_vla.rollout import rollout
from pytest_vla.suite import Requirement, Suite, SuiteError, Termination

__all__ = [
    "EpisodeKey",
    "Policy",
    "PolicyError",
    "PolicySpec",
    "Requirement",
    "Result",
    "Suite",
    "SuiteError",
    "Termination",
    "__version__",
    "benchmark",
    "evaluate",
    "films",
    "get_suite",
    "hunt",
    "perturbations",
    "register",
    "rollout",
    "scalars",
    "suite_names",
]
