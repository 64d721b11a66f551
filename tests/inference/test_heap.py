"""A server's allocator keeps what a call frees: in interpreters of their own, since it cannot be told otherwise."""

import os
import platform
import subprocess
import sys

import pytest

from pytest_vla.inference.heap import VARIABLES

CODE = """
import resource
import numpy as np
from pytest_vla.inference.heap import keep_freed_memory

told = keep_freed_memory() if {keep} else False
for number in range(20):
    if number == 5:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(5_000_000, np.uint8) for _ in range(4)]
    del blocks
print(told, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep, **variables):
    """Whether the allocator was told, and the page faults of calls that allocate and free the same every time."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(keep=keep)],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    told, count = done.stdout.split()
    return told == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_calls_that_allocate_the_same_again_fault_no_page():
    _, usual = faults(keep=False)
    told, kept = faults(keep=True)
    assert told
    assert kept < 100 < usual


def test_what_a_person_set_stays():
    assert faults(keep=True, MALLOC_TRIM_THRESHOLD_="131072")[0] is False
