"""What suites are written with: drawing episodes, goals, edits and scene axes, cameras, waypoints, MuJoCo parts.

It knows no suite; it imports `sim`, `perturb`, `policies`, `episode` and `suite` of this package, and nothing else.
Read `bench.py` first, with the suite `docs/examples/workbench` beside it; then `goals.py` and `axes.py`.
"""
