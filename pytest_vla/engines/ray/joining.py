"""Workers that join a run after it began: their nodes came later, or came back.

xdist starts its workers before the first item and counts on them until the end. Those that join are started by its node
manager as well, and our scheduler gives them blocks; that they come and go is between the two of us.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pytest_vla.engines.ray.cluster import Cluster
from pytest_vla.outline import Gone

LOOK_S = 1.0
Event = tuple[str, dict[str, Any]]


class Joining:
    """Watches for seats that find a place on the cluster, and opens them."""

    def __init__(self, cluster: Cluster, config: Any) -> None:
        self.cluster, self.config = cluster, config
        self._waiting: list[Any] = []
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="vla-joining", daemon=True)

    def begin(self, waiting: list[Any]) -> None:
        """These gateways are to be opened when there is a place for them."""
        self._waiting = waiting
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _watch(self) -> None:
        while not self._ending.wait(LOOK_S):
            with self._lock:
                ready = [spec for spec in self._waiting if self.cluster.is_placed(spec.python)]
                self._waiting = [spec for spec in self._waiting if spec not in ready]
            for spec in ready:
                if not self._ending.is_set():
                    with suppress(Exception):  # lost again before it was open: it waits once more
                        self._open(spec)
                        continue
                    self._wait_again(spec)

    def _open(self, spec: Any) -> None:
        session = self.config.pluginmanager.get_plugin("dsession")
        session.nodemanager.setup_node(spec, self._put(session, spec))

    def _put(self, session: Any, spec: Any) -> Callable[[Event], None]:
        """What a worker tells goes to xdist, but for its end, which xdist does not expect: the scheduler hears that."""

        def put(event: Event) -> None:
            name, told = event
            if name in ("workerfinished", "errordown"):
                if name == "errordown":
                    self._wait_again(spec)
                event = ("unscheduled", {"node": told["node"], "indices": Gone(told.get("error"))})
            session.queue.put(event)

        return put

    def _wait_again(self, spec: Any) -> None:
        self.cluster.leave(spec.python)
        spec.id = None
        with self._lock:
            self._waiting.append(spec)
