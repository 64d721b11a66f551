"""The folder of a run: held by one process, gone again where nothing came of it, found again by who resumes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pytest_vla.run.file import RunFileError, parse_line
from pytest_vla.run.lock import RunLock
from pytest_vla.run.places import FILE_NAME, RUNS_FOLDER, listed_runs

RESULTS = ("episode", "probe")
TRACES = (*RESULTS, "plan", "hunt", "hunt_start", "failure", "unrun")


class RunFolder:
    """A folder that this process writes in, from `hold` to `close`."""

    def __init__(self, path: Path, made: tuple[Path, ...], lock: RunLock) -> None:
        self.path = path
        self._made, self._lock = made, lock
        self._had_a_file = self.file.exists()

    @classmethod
    def hold(cls, path: Path) -> RunFolder:
        """Make the folder if there is none, and lock it; RunFileError where that cannot be."""
        made = tuple(folder for folder in (path, *path.parents) if not folder.exists())
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFileError(f"cannot write the run file '{path / FILE_NAME}': {error.strerror or error}") from error
        return cls(path, made, RunLock.take(path))

    @property
    def file(self) -> Path:
        return self.path / FILE_NAME

    def close(self) -> None:
        """Let go of the folder; what this process began and never got as far as a plan leaves no trace."""
        if not self._had_a_file and not _has_any(self.file, TRACES):
            self.file.unlink(missing_ok=True)
            if self.path in self._made:
                shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release()
        for folder in self._made:
            with suppress(OSError):  # others may have written in it
                folder.rmdir()


def chosen_folder(run_dir: str | None, name: str | None, resume: bool) -> Path:
    """Where this run goes: the folder that was named, the newest one to resume, or a new one in `vla-runs/`."""
    if run_dir is not None:
        return Path(run_dir)
    if name is not None:
        if Path(name).name != name or name.isdecimal() or name in ("", ".", ".."):
            raise RunFileError(f"a run cannot be called {name!r}: no slashes, and not a number alone")
        return RUNS_FOLDER / name
    return newest_run() if resume else RUNS_FOLDER / datetime.now().strftime("%Y-%m-%d_%H-%M-%S_%f")


def newest_run(runs: Path = RUNS_FOLDER) -> Path:
    """The folder of the newest run that has results: a mistyped command may have left a newer one without."""
    for file in reversed(listed_runs(runs)):
        if _has_any(file, RESULTS):
            return file.parent
    raise RunFileError(f"nothing to resume: there is no run with episodes in '{runs}/'; name one with --vla-run-dir")


def _has_any(file: Path, types: tuple[str, ...]) -> bool:
    return any(kind in types for kind in _types(file))


def _types(file: Path) -> Iterator[object]:
    with suppress(FileNotFoundError), file.open("rb") as lines:
        for text in lines:
            with suppress(ValueError, RecursionError):
                line = parse_line(text)
                yield line.get("type") if isinstance(line, dict) else None
