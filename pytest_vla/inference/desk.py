"""Where requests of all connections wait for the model: batches for one device, computed in a thread of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any

from pytest_vla.inference.batching import Batcher
from pytest_vla.inference.engine import Engine, Job

Waiting = tuple[Job, "asyncio.Future[Any]"]


class Desk:
    """Takes requests and gives them to the engine in batches."""

    def __init__(self, engine: Engine, limit: int) -> None:
        self.live: set[object] = set()
        self._engine = engine
        self._batcher: Batcher[Waiting] = Batcher(limit)
        self._news = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "policy")

    async def ask(self, client: object, job: Job) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._batcher.add(client, (job, future), monotonic())
        self._news.set()
        return await future

    async def run(self) -> None:
        while True:
            self._news.clear()
            wait = self._batcher.wait(len(self.live), monotonic())
            if wait == 0:
                await self._serve(self._batcher.take())
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait)

    async def _serve(self, batch: list[Waiting]) -> None:
        """Who is still there is asked once, before: an answer goes to the future that came with its job, or nowhere."""
        asked = [(job, future) for job, future in batch if not future.done()]
        if not asked:
            return
        start = monotonic()
        jobs = [job for job, _ in asked]
        answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.answer, jobs)
        self._batcher.took(len(jobs), monotonic() - start)
        for (_, future), answer in zip(asked, answers, strict=True):
            if not future.done():
                future.set_result(answer)
