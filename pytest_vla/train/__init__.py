"""Behaviour cloning: `pytest-vla record` writes demonstrations, `pytest-vla train` makes a policy of them.

No suite's policy lives here: those are in `suites/*/policy`. May import `policies`, `suite`, `rollout`, `episode` and
the options. Read `loop.py` first, then `dataset.py`.
"""
