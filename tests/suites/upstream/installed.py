"""Whether a suite's environment is there, asked when a test file is imported."""

import pytest

from pytest_vla.registry import typed_suite


def need(name: str) -> None:
    """Skip the whole file, once, with the command that changes it."""
    missing = typed_suite(name).missing()
    if missing is not None:
        pytest.skip(f"suite '{name}' needs {missing.module}: {missing.install}", allow_module_level=True)
