"""What is being tested: the policy contract, and one loader for each kind of `--vla-policy`."""

from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.loading import PolicySource, load_policy

__all__ = ["Policy", "PolicyError", "PolicySource", "PolicySpec", "load_policy"]
