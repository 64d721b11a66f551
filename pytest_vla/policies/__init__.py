"""What is being tested: the policy contract, and the kinds of policy that `--vla-policy` takes.

May import `episode`. Read `base.py` first (the contract), then `kinds.py` (one row a kind).
"""

from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.kinds import Kind, load_policy
from pytest_vla.policies.source import EnvSource, PolicySource, SharedSource

__all__ = [
    "EnvSource",
    "Kind",
    "Policy",
    "PolicyError",
    "PolicySource",
    "PolicySpec",
    "SharedSource",
    "load_policy",
]
