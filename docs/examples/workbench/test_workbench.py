"""Run it with `pytest workbench --vla-policy=oracle`."""

from workbench import WorkbenchSuite

import pytest_vla as vla
from pytest_vla.testing import check_suite

suite = WorkbenchSuite()


@vla.benchmark(suite)
def test_workbench(policy, env, episode):
    assert vla.rollout(policy, env, episode)


def test_the_suite_keeps_the_contract():
    check_suite(suite)
