"""One model for many simulators: a server process that batches, and shared memory to reach it."""
