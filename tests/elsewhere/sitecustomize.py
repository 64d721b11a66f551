"""Put in the path of a Python, this makes it one without what only Linux has; see docs/systems.md.

`WITHOUT` names more that is missing on some systems: `AF_UNIX` on Windows.
"""

import multiprocessing
import os
import signal
import socket

for module, names in (
    (os, ("memfd_create", "MFD_CLOEXEC", "eventfd", "eventfd_read", "eventfd_write", "sched_getaffinity")),
    (signal, ("setitimer", "getitimer", "ITIMER_REAL")),
    (socket, ("TCP_DEFER_ACCEPT", *filter(None, os.environ.get("WITHOUT", "").split(",")))),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
multiprocessing.set_start_method("spawn", force=True)
