"""What is wrong with a policy's wiring, with numbers: `pytest-vla doctor` and `--vla-doctor`.

May import `policies`, `suite`, `rollout`, `inference`, `options` and `run`. Read `examine.py` first: it
records a few episodes, asks what must hold of any policy (`checks.py`), tries the conventions without the simulator
(`candidates.py`, `agreement.py`), plays the best few (`trials.py`), and says what it found (`findings.py`). It draws no
conclusion that its numbers do not carry: see FALSE_ALARMS in `trials.py`.
"""
