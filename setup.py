"""Ship `suites/` as `pytest_vla.suites`: a new suite is one new folder, with nothing to list here."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["pytest_vla", "pytest_vla.*"]),
        "pytest_vla.suites",
        *(f"pytest_vla.suites.{name}" for name in find_packages("suites")),
    ],
)
