"""The run file: JSON lines, provenance first, then one flushed line per episode. Everything later is a reader of it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from pytest_vla._version import __version__
from pytest_vla.episode import builtin
from pytest_vla.run import RunFileError as RunFileError

FILE_NAME = "run.jsonl"
FORMAT = 1
RECORDED_PACKAGES = ("numpy", "scipy", "gymnasium", "pytest", "pytest-xdist", "pybullet", "mujoco", "torch")

Record = dict[str, Any]
Key = tuple[str, str, str, int, str, int]


@dataclass(frozen=True)
class Run:
    """A run file as read back: what it was, its episodes, and what of it could not be read."""

    path: Path
    provenance: Record
    episodes: list[Record]
    plan: int | None = None
    ended: bool = False
    damaged: list[tuple[int, str]] = field(default_factory=list)
    others: list[Record] = field(default_factory=list)
    """Lines of every further type, such as `gate`, `inference` or `end`."""

    @property
    def policy_digest(self) -> str:
        return str(self.provenance.get("policy", {}).get("digest", ""))


def key_of(record: Mapping[str, Any]) -> Key:
    """What makes two lines the same episode."""
    perturbation, repeat = record.get("perturbation") or "", record.get("repeat") or 0
    return (record["suite"], record["task"], record["partition"], record["index"], perturbation, repeat)


def run_path(run: Path | str) -> Path:
    """The file behind what a person typed: the file itself, or the folder it is in."""
    path = Path(run)
    return path / FILE_NAME if path.is_dir() else path


def provenance(policy: Mapping[str, Any], suites: Mapping[str, str], options: Mapping[str, Any]) -> Record:
    """Who made this run: versions, policy, suites, options, commit."""
    return builtin(  # type: ignore[no-any-return]
        {
            "type": "run",
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "pytest_vla": __version__,
            "policy": policy,
            "suites": suites,
            "options": options,
            "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
            "commit": _commit(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "packages": {name: _version(name) for name in RECORDED_PACKAGES if _version(name)},
        }
    )


class RunWriter:
    """Appends to a run file; every line is on its way to the disk before the next episode starts."""

    def __init__(self, path: Path, handle: IO[str]) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def create(cls, path: Path, first: Record) -> RunWriter:
        if path.exists():
            raise RunFileError(
                f"'{path}' exists already: add --vla-resume to go on with that run, or choose another folder"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = cls(path, path.open("x", encoding="utf-8"))
        except OSError as error:
            raise RunFileError(f"cannot write the run file '{path}': {error.strerror or error}") from error
        writer.write(first)
        return writer

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Open for appending, after cutting off the half line a killed run may have left."""
        try:
            with path.open("r+b") as handle:
                content = handle.read()
                handle.truncate(content.rfind(b"\n") + 1)
            return cls(path, path.open("a", encoding="utf-8"))
        except OSError as error:
            raise RunFileError(f"cannot write the run file '{path}': {error.strerror or error}") from error

    def write(self, record: Record) -> None:
        self._handle.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._handle.flush()

    def close(self) -> None:
        self._handle.close()


def read_run(run: Path | str) -> Run:
    """Read a run file; damaged lines are listed with their numbers, the rest is used."""
    path = run_path(run)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RunFileError(f"cannot read the run file '{path}': {error.strerror or error}") from error
    first: Record | None = None
    episodes: dict[Key, Record] = {}
    plan, ended = None, False
    damaged: list[tuple[int, str]] = []
    others: list[Record] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            kind = record["type"]
            if kind == "episode":
                episodes[key_of(record)] = record
                ended = False
            elif kind == "run":
                first = first or record
            elif kind == "plan":
                plan = int(record["episodes"])
            else:
                others.append(record)
                ended = ended or kind == "end"
        except (ValueError, KeyError, TypeError) as error:
            damaged.append((number, f"{type(error).__name__}: {error}"))
    if first is None:
        raise RunFileError(f"'{path}' is not a run file: its provenance line is missing")
    return Run(path, first, list(episodes.values()), plan, ended, damaged, others)


def write_run(path: Path, first: Record, episodes: Iterable[Record]) -> None:
    """Write a whole, finished run file."""
    writer = RunWriter.create(path, first)
    episodes = list(episodes)
    for record in episodes:
        writer.write(record)
    writer.write({"type": "plan", "episodes": len(episodes)})
    writer.write({"type": "end", "episodes": len(episodes)})
    writer.close()


def merge_runs(runs: Iterable[Run]) -> tuple[Record, list[Record]]:
    """The union of runs of one policy: each episode once. An error gives way to a measurement of the same episode."""
    runs = list(runs)
    digests = {run.policy_digest for run in runs}
    if len(digests) > 1:
        raise RunFileError(f"these runs are of different policies and cannot be merged: {', '.join(sorted(digests))}")
    suites: dict[str, str] = {}
    merged: dict[Key, tuple[Record, Run]] = {}
    for run in runs:
        for record in run.episodes:
            name, number = record["suite"], record.get("version", "")
            if suites.setdefault(name, number) != number:
                raise RunFileError(f"suite '{name}' has version {suites[name]} in one run and {number} in '{run.path}'")
            key = key_of(record)
            kept = merged.get(key)
            if kept is None or kept[0]["outcome"] == "error":
                merged[key] = (record, run)
            elif record["outcome"] not in ("error", kept[0]["outcome"]):
                raise RunFileError(
                    f"episode {'/'.join(map(str, key[:4]))} is {kept[0]['outcome']} in '{kept[1].path}' "
                    f"and {record['outcome']} in '{run.path}': the same key must give the same outcome"
                )
    first = {**runs[0].provenance, "merged": [str(run.path) for run in runs]}
    first["gate"] = [line for run in runs for line in run.others if line["type"] == "gate"]
    return first, [record for record, _ in merged.values()]


def _commit() -> dict[str, Any] | None:
    """The commit of the working directory, and whether it had changes; None outside a checkout."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
        if head.returncode:
            return None
        status = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"id": head.stdout.strip(), "dirty": bool(status.stdout.strip())}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
