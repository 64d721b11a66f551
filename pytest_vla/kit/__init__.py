"""What suites are written with: drawing episodes, goals, edits and scene axes, cameras, waypoints, MuJoCo parts.

It knows no suite; it imports `sim`, `perturb`, `policies`, `episode` and `suite` of this package, and nothing else.
Read `goals.py` and `task.py` first, then a suite that is small: `docs/examples/bench`.
"""
