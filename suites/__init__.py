"""The suites that ship with pytest-vla, one folder each; installed as `pytest_vla.suites`."""
