"""Suites that only their own interpreter knows: what there is to run is asked of the world, once a run."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeError
from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.run.pair import UNSEEDED
from pytest_vla.suite import SuiteError

NOT_INSTALLED = ("not_installed", "default")
DESCRIPTIONS = "PYTEST_VLA_DESCRIPTIONS"  # a folder of the controller's: its workers need not ask again


class DescribedSuite(IsolatedSuite):
    """A suite made from a text. Its world, opened without a task, describes the entries that it has.

    An entry is a partition: its `name`, `tasks`, `max_steps`, whether it is `seeded`, and facts of the suite's own.
    """

    def __init__(self, name: str, environment: str, text: str) -> None:
        self.name, self.environment, self.text = name, environment, text
        _ = self.declared  # a wrong name is said at once

    def cells(self) -> Sequence[tuple[str, str]]:
        if self.missing() is not None:
            return [NOT_INSTALLED]  # one item, which is skipped with the command
        return [(task, entry["name"]) for entry in self.entries for task in entry["tasks"]]

    def step_limit(self, task: str) -> int:
        return int(self.entry(task).get("max_steps", 1))

    def options(self, task: str) -> Mapping[str, Any]:
        return {"text": self.text, "path": own_path()}

    def provenance(self) -> dict[str, str]:
        """Where no seed is heeded every run has other scenes: its episodes must not pair."""
        unseeded = any(not entry["seeded"] for entry in self.entries)
        return {**super().provenance(), **(dict([UNSEEDED]) if unseeded else {})}

    def entry(self, task: str) -> Mapping[str, Any]:
        """The one that a task is of."""
        if task == NOT_INSTALLED[0]:
            return {}
        return next(entry for entry in self.entries if task in entry["tasks"])

    @cached_property
    def entries(self) -> list[Mapping[str, Any]]:
        note = self._note()
        if note.is_file():
            return list(json.loads(note.read_text(encoding="utf-8")))
        entries = self._ask()
        unfinished = note.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(entries), encoding="utf-8")
        unfinished.replace(note)
        return entries

    def _ask(self) -> list[Mapping[str, Any]]:
        from pytest_vla.isolate.process import Child

        child = Child(self.launch())
        try:
            child.ask("open", "", dict(self.options("")))
            return list(child.ask("call", "describe", [])["value"])
        except EpisodeError as error:
            raise SuiteError(f"{self.name} cannot be used: {str(error).splitlines()[-1]}") from error
        finally:
            child.close()

    def _note(self) -> Path:
        folder = os.environ.get(DESCRIPTIONS)
        if folder is None or not Path(folder).is_dir():
            folder = os.environ[DESCRIPTIONS] = tempfile.mkdtemp(prefix="pytest-vla")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        name = hashlib.blake2b("\n".join([self.name, *own_path()]).encode(), digest_size=8).hexdigest()
        return Path(folder) / f"{name}.json"


def own_path() -> list[str]:
    """The user's own part of the Python path: a class may be there. Nothing of our interpreter's packages."""
    ours = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    entries = [os.path.abspath(entry or os.getcwd()) for entry in ("", *sys.path)]
    theirs = [entry for entry in dict.fromkeys(entries) if not any(_is_in(entry, root) for root in ours)]
    return [entry for entry in theirs if not (Path(entry) / "pytest_vla" / "isolate").is_dir()]


def _is_in(entry: str, root: str) -> bool:
    return entry == root or entry.startswith(root.rstrip(os.sep) + os.sep)
