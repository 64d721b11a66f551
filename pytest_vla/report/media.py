"""Films at an address instead of in a folder: workers of any host write theirs there, and reports read them."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.episode import Result
from pytest_vla.options import Settings
from pytest_vla.registry import get_suite
from pytest_vla.replay import RecordedActions
from pytest_vla.report.errors import ReportError
from pytest_vla.report.film import DEFAULT_VIDEOS, Film, make_film, media_name
from pytest_vla.rollout import Step, Surroundings, rollout, surroundings
from pytest_vla.run import Record
from pytest_vla.run.trace import Tape

if TYPE_CHECKING:
    from pytest_vla.execution import Execution

LARGEST_FILE = 1 << 30


@dataclass(frozen=True)
class Media:
    """A folder that fsspec reaches: `s3://bucket/films`, `gs://...`, `file:///...`, or a path."""

    address: str
    files: Any
    root: str

    @classmethod
    def open(cls, address: str) -> Media:
        """One line says what is missing for such an address."""
        try:
            import fsspec
        except ImportError:
            raise ReportError('films at an address need fsspec: pip install "pytest-vla[media]"') from None
        try:
            files, root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError, OSError) as error:
            raise ReportError(f"--vla-media={address}: {str(error).splitlines()[0]}") from None
        return cls(address, files, root.rstrip("/"))

    def put(self, folder: Path, film: Film, sidecar: str) -> None:
        """A film with its files; what says that it is there comes last."""
        self.files.makedirs(self.root, exist_ok=True)
        for name in (*film.files, sidecar):
            self.files.put_file(str(folder / name), f"{self.root}/{name}")

    def fetch(self, folder: Path, record: Record) -> bool:
        """Bring the film of an episode into a folder, if there is one. What lies there is data: names are checked."""
        sidecar = f"{media_name(record)}.json"
        try:
            data = json.loads(self.files.cat_file(f"{self.root}/{sidecar}"))
            film = Film(**{name: value for name, value in data.items() if name != "format"})
            if not all(name == PurePosixPath(name).name and name.startswith(media_name(record)) for name in film.files):
                return False
            folder.mkdir(parents=True, exist_ok=True)
            for name in film.files:
                if self.files.size(f"{self.root}/{name}") > LARGEST_FILE:
                    return False
                self.files.get_file(f"{self.root}/{name}", str(folder / name))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return False
        (folder / sidecar).write_text(json.dumps(data), encoding="utf-8")
        return True


def register_media(config: pytest.Config, settings: Settings, execution: Execution) -> None:
    """Where episodes run, film them; on the controller, see that the address can be used before the first of them."""
    if settings.report.media is None or config.option.help or config.option.collectonly:
        return
    try:
        media = Media.open(settings.report.media)
    except ReportError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Filming(media, settings.report.video or DEFAULT_VIDEOS, execution), "vla-media")


class Filming:
    """Films what was asked for when its item has ended: its result is on its way by then."""

    def __init__(self, media: Media, which: str, execution: Execution) -> None:
        self.media, self.which, self.execution = media, which, execution
        self._results: list[Result] = []
        self._filmed: Counter[tuple[str, str]] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        around, tape = surroundings.get(), Tape()

        def on_step(step: Step) -> None:
            around.on_step(step)
            tape.add(step.action, step.progress)

        def on_result(result: Result) -> None:
            around.on_result(result)
            self._results.append(tape.added_to(result))

        token = surroundings.set(replace(around, on_step=on_step, on_result=on_result))
        try:
            return (yield)
        finally:
            surroundings.reset(token)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        results, self._results = self._results, []
        for result in filter(self._is_wanted, results):
            self._film(Record(result, nodeid, "passed"))

    def _is_wanted(self, result: Result) -> bool:
        """As `film.choose` has it, by what this worker knows: its own first N of each task."""
        if self.which == "none" or result.outcome == "error" or not result.actions:
            return False
        if self.which == "all":
            return True
        if result.outcome != "unsolved" or result.episode.repeat:
            return False
        self._filmed[result.episode.suite, result.episode.task] += 1
        return self.which == "unsolved" or self._filmed[result.episode.suite, result.episode.task] <= int(self.which)

    def _film(self, record: Record) -> None:
        with tempfile.TemporaryDirectory(prefix="pytest-vla-") as made:
            film = make_film(self, record, Path(made))
            if film.note.startswith("no film"):
                return
            try:
                self.media.put(Path(made), film, f"{media_name(record)}.json")
            except Exception as error:  # any store may fail, and no episode must
                warnings.warn(f"no film at {self.media.address}: {type(error).__name__}: {error}", stacklevel=2)

    def run_actions(self, record: Record, on_step: Callable[[Step], None]) -> Result:
        """The episode once more, as it was."""
        assert record.result.actions is not None
        env = self.execution.env_for(get_suite(record.key.suite), record.key.task)
        token = surroundings.set(Surroundings(on_step=on_step))
        try:
            return rollout(RecordedActions(record.result.actions), env, record.key)
        finally:
            surroundings.reset(token)
