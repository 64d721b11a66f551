"""Hunts: find how a policy breaks, shrunk to the smallest cause.

May import `run`, `perturb`, `episode` and `suite`, and `pictures`; its files that face pytest
(`hooks`, `items`, `play`, `progress`) also `messages`. Read `search.py` first (the search itself, without pytest) and
`effects.py` (when a cause is real), then `play.py` (how a pytest item answers its questions) and `crew.py` (how workers
share them).
"""
