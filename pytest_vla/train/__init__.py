"""Behaviour cloning: `pytest-vla record` writes demonstrations, `pytest-vla train` makes a policy of them."""
