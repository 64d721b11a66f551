"""What suites are written with: drawing episodes, goals, edits, scene axes, cameras, waypoints, MuJoCo parts, an arm.

It knows no suite; it imports `sim`, `perturb`, `policies`, `episode` and `suite` of this package, and nothing else.
Read `bench.py` first, with the suite `docs/examples/workbench` beside it; then `goals.py` and `axes.py`. Things under a
hand start at `hand_task.py`, with a task of `suites/agnostos` beside it; then `things.py`, `predicates.py`, and
`hand_env.py` with the `room.py` it is given.
"""
