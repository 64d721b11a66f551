import pytest

from pytest_vla.policies.trust import trust

pytest.importorskip("torch")
pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def classes_of_these_tests_are_trusted():
    trust(["test_loop"])
