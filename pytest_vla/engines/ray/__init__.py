"""Ray as the engine of a run: `--vla-engine=ray`.

Read `session.py` and `cluster.py` first (the driver's side), then `seat.py` (a worker's place on a node) and
`replicas.py` (the policy's). `relay.py` stands between xdist and a worker, `remote.py` is the first thing that a worker
runs, and `joining.py` lets workers in that come later.
"""
