"""`--vla-record=DIR`: solved episodes of a run become a dataset of demonstrations."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.messages import is_worker
from pytest_vla.rollout import surroundings
from pytest_vla.suite import get_suite
from pytest_vla.train.errors import DatasetError

if TYPE_CHECKING:
    from pytest_vla.episode import Result
    from pytest_vla.options import Settings

PARTS = ".parts"  # episodes that are not put together yet, each in files of its own: workers write side by side


def register_recording(config: pytest.Config, settings: Settings) -> None:
    """Record this run if it was asked for."""
    folder = settings.report.record
    if folder is not None and not config.option.collectonly:
        recording = Recording(Path(folder), settings.run.suite, settings.report.record_cameras, is_worker(config))
        config.pluginmanager.register(recording, "vla-recording")


class Recording:
    """Keeps the steps of each episode; the controller puts the kept ones together in the order of their keys."""

    def __init__(self, folder: Path, suites: tuple[str, ...], cameras: tuple[str, ...], worker: bool) -> None:
        self.folder, self.suites, self.cameras, self.worker = folder, suites, cameras, worker
        self.parts = folder / PARTS
        self.said = ""
        if worker:
            return
        if len(suites) != 1:
            raise pytest.UsageError("--vla-record makes a dataset of one suite: add --vla-suite=NAME")
        if folder.exists() and any(folder.iterdir()):
            raise pytest.UsageError(f"--vla-record: '{folder}' is not empty; name a new folder")
        try:
            import pytest_vla.train.dataset  # noqa: F401
        except DatasetError as error:
            raise pytest.UsageError(str(error)) from None
        self.parts.mkdir(parents=True, exist_ok=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Listen to an item that was asked for, next to whoever does already; what else it rolls out is not kept."""
        from pytest_vla.train.demonstration import Take

        callspec = getattr(pyfuncitem, "callspec", None)
        asked = callspec.params.get("episode") if callspec is not None else None
        if asked is None:
            return (yield)
        around, take = surroundings.get(), Take(self.cameras)

        def on_step(step: Any) -> None:
            around.on_step(step)
            take.add(step)

        def on_result(result: Result) -> None:
            around.on_result(result)
            if result.outcome == "solved" and take.done and result.episode == asked and asked.suite in self.suites:
                self._keep(take, result)

        token = surroundings.set(replace(around, on_step=on_step, on_result=on_result))
        try:
            return (yield)
        finally:
            surroundings.reset(token)

    def pytest_sessionfinish(self) -> None:
        """Put the dataset together from what was solved, however the run ended."""
        if self.worker:
            return
        from pytest_vla.train.dataset import Packed, read_about, write_dataset

        suite = get_suite(self.suites[0])
        places = {cell: place for place, cell in enumerate(suite.cells())}

        def place(path: Path) -> tuple[Any, ...]:
            """Cells in the suite's order, episodes by their index, unperturbed ones first."""
            about = read_about(path)
            return places[about["task"], about["partition"]], *(
                about[name] for name in ("index", "perturbation", "repeat")
            )

        paths = sorted(self.parts.glob("*.parquet"), key=place)
        if paths:
            count = write_dataset(self.folder, map(Packed.load, paths), suite.control_hz)
            self.said = f"{count} demonstrations in {self.folder}"
        else:
            self.said = f"no episode was solved, so there is no demonstration in {self.folder}"
        shutil.rmtree(self.parts, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(self.said)

    def _keep(self, take: Any, result: Result) -> None:
        from pytest_vla.train.dataset import Packed

        name = hashlib.blake2b(str(result.episode).encode(), digest_size=16).hexdigest()
        Packed.of(take.demonstration(result)).save(self.parts / f"{name}.parquet")
