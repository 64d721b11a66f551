"""Where requests of all connections wait for the model: batches for one device, computed in a thread of its own.

A model that answers sooner than a thread can be woken is asked where its requests arrive.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any

from pytest_vla.inference.batching import Batcher
from pytest_vla.inference.engine import Engine, Job

QUICK_S = 1e-3  # a call that takes no longer holds up nobody
QUICK_CALLS = 16  # of this kind in a row, until the next is made without the thread

Waiting = tuple[Job, "asyncio.Future[Any]"]


class Desk:
    """Takes requests and gives them to the engine in batches, each at once when it is due."""

    def __init__(self, engine: Engine, limit: int) -> None:
        self.live: set[object] = set()
        self._engine = engine
        self._batcher: Batcher[Waiting] = Batcher(limit)
        self._thread = ThreadPoolExecutor(1, "policy")
        self._loop = asyncio.get_running_loop()
        self._broken: asyncio.Future[None] = self._loop.create_future()
        self._is_busy = False
        self._quick_calls = 0
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, client: object, job: Job) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._batcher.add(client, (job, future), monotonic())
        self._serve()
        return await future

    async def run(self) -> None:
        """Until the engine itself fails."""
        await self._broken

    def _serve(self) -> None:
        """Give the next batch to the engine if one is due and it has none, or come back when one is.

        Who is still there is asked once, before: an answer goes to the future that came with its job, or nowhere.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while not self._is_busy:
            wait = self._batcher.wait(len(self.live), monotonic())
            if wait is None:
                return
            if wait > 0:
                self._timer = self._loop.call_later(wait, self._serve)
                return
            batch = [(job, future) for job, future in self._batcher.take() if not future.done()]
            if batch:
                self._compute(batch)

    def _compute(self, batch: list[Waiting]) -> None:
        jobs, start = [job for job, _ in batch], monotonic()
        if self._quick_calls >= QUICK_CALLS and not self._engine.fixed:  # fixed bits want the threads of one thread
            self._answer(batch, start, self._engine.answer(jobs))
            return
        self._is_busy = True
        computed = self._loop.run_in_executor(self._thread, self._engine.answer, jobs)
        computed.add_done_callback(partial(self._computed, batch, start))

    def _computed(self, batch: list[Waiting], start: float, computed: asyncio.Future[list[Any]]) -> None:
        self._is_busy = False
        if computed.cancelled():
            return
        error = computed.exception()
        if error is not None:
            if not self._broken.done():
                self._broken.set_exception(error)
            return
        self._answer(batch, start, computed.result())
        self._serve()

    def _answer(self, batch: list[Waiting], start: float, answers: list[Any]) -> None:
        seconds = monotonic() - start
        self._quick_calls = self._quick_calls + 1 if seconds <= QUICK_S else 0
        self._batcher.took(len(batch), seconds)
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)
