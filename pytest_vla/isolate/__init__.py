"""Suites and policies that live in an interpreter of their own: named environments, and a child process for each.

May import `suite`, `episode`, `perturb`, `policies`, the options, `kit`'s images. Read `suite.py` first (what a suite
declares), then `env.py` and `process.py` (the parent's half), `protocol.py` (the child's half: it runs alone and
imports nothing of ours) and `environment.py` with `install.py` (what is installed, and where). Policies are `policy.py`
and, in the child, `guest.py`.
"""
