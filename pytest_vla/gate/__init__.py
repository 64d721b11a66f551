"""The statistical verdict on a run: against thresholds, or against a baseline run.

May import `run`, `suite`, `episode` and the options. Read `judge.py` first (the verdict, a pure function), then
`questions.py` and `comparisons.py` (what is asked, and which episodes answer it); `exact.py` (for a declared number of
episodes) and `sequential.py` (for any time) are the tests, `watch.py` and `plugin.py` are the gate in a running
session (`registration.py` imports them where there is one), `side_by_side.py` is `pytest-vla compare`.
"""
