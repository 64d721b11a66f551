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
from pytest_vla.registry import get_suite
from pytest_vla.rollout import surroundings
from pytest_vla.train.errors import DatasetError

if TYPE_CHECKING:
    from pytest_vla.episode import Result
    from pytest_vla.options import Settings
    from pytest_vla.run import Run

PARTS = ".parts"  # episodes that are not put together yet, each in files of its own: workers write side by side


def register_recording(config: pytest.Config, settings: Settings) -> None:
    """Record this run if it was asked for."""
    folder = settings.report.record
    if folder is not None and not config.option.collectonly:
        asked, cameras = settings.run, settings.report.record_cameras
        recording = Recording(Path(folder), asked.suite, cameras, is_worker(config), asked.resume)
        config.pluginmanager.register(recording, "vla-recording")


class Recording:
    """Keeps the steps of each episode; the controller puts the kept ones together in the order of their keys.

    As long as a run may be resumed they stay, so that a dataset made in several goes is what one go had made.
    """

    def __init__(
        self, folder: Path, suites: tuple[str, ...], cameras: tuple[str, ...], worker: bool, resume: bool = False
    ) -> None:
        self.folder, self.suites, self.cameras, self.worker = folder, suites, cameras, worker
        self.parts = folder / PARTS
        self.said = ""
        if worker:
            return
        if len(suites) != 1:
            raise pytest.UsageError("--vla-record makes a dataset of one suite: add --vla-suite=NAME")
        if folder.exists() and any(folder.iterdir()) and not (resume and self.parts.exists()):
            begun = " (a recording that did not end goes on with --vla-resume)" if self.parts.exists() else ""
            raise pytest.UsageError(f"--vla-record: '{folder}' is not empty; name a new folder{begun}")
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

    @pytest.hookimpl(wrapper=True, trylast=True)  # after the run has ended, and before the terminal sums up
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Put the dataset together from what was solved, however the run ended."""
        yield
        if not self.worker:
            self._put_together()
            run: Run | None = getattr(session.config.pluginmanager.get_plugin("vla-session"), "run", None)
            if run is not None and run.completeness(gated=False).finished and not len(run.error_items):
                shutil.rmtree(self.parts, ignore_errors=True)
            else:
                self.said += "; --vla-resume goes on"

    def _put_together(self) -> None:
        from pytest_vla.train.dataset import Packed, read_about, write_dataset

        def place(path: Path) -> tuple[Any, ...]:
            """Cells in the suite's order, episodes by their index, unperturbed ones first."""
            about = read_about(path)
            return tuple(about[name] for name in ("cell", "index", "perturbation", "repeat"))

        paths = sorted(self.parts.glob("*.parquet"), key=place)
        if paths:
            count = write_dataset(self.folder, map(Packed.load, paths), read_about(paths[0])["fps"])
            self.said = f"{count} demonstrations in {self.folder}"
        else:
            self.said = f"no episode was solved, so there is no demonstration in {self.folder}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(self.said)

    def _keep(self, take: Any, result: Result) -> None:
        from pytest_vla.train.dataset import Packed

        key = result.episode
        suite = get_suite(key.suite)  # the controller may not know it: with workers it imports no test file
        packed = Packed.of(take.demonstration(result))
        packed.about.update(cell=list(suite.cells()).index((key.task, key.partition)), fps=suite.control_hz)
        packed.save(self.parts / f"{hashlib.blake2b(str(key).encode(), digest_size=16).hexdigest()}.parquet")
