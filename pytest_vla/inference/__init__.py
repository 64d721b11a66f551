"""One model for many simulators: a server process that batches, and shared memory to reach it.

May import `policies`, `episode`, `suite` and the options. Read `session.py` first (where the policy of a run lives),
then `engine.py` (how it is asked in batches), `server.py` and `client.py`.
"""
