"""Answers, where a policy is asked questions: their format, the modalities they follow, the knowledge behind them.

May import `episode` and `run`. Read `answer.py` first (what the run file keeps of an answer), then `modes.py` (what is
measured of all of them).
"""
