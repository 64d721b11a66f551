"""Writing a run file: line by line, and on where a killed or starved run left it, without losing what can be read."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import IO

from pytest_vla.run.file import Line, RunFileError, parse_line

_OPENING = b'{"type": "run"'  # how `json.dumps` begins a line of provenance
_BLOCK = 1 << 16


class RunWriter:
    """Appends to a run file; every line is on its way to the disk before the next episode starts."""

    def __init__(self, path: Path, handle: IO[str]) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def create(cls, path: Path, first: Line) -> RunWriter:
        """Begin a run; what a full disk left of an earlier beginning is no run, and may be written over."""
        if path.exists() and not is_unborn(path):
            raise RunFileError(
                f"'{path}' exists already: add --vla-resume to go on with that run, or choose another folder"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = cls(path, path.open("w" if path.exists() else "x", encoding="utf-8"))
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            writer.write(first)
        except OSError as error:
            with suppress(OSError):  # it tries to write once more
                writer.close()
            raise _cannot_write(path, error) from error
        return writer

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Open for appending. A last line without its newline gets one if it is whole, and is cut off if it is not."""
        try:
            with path.open("r+b") as handle:
                start, last = _unended(handle)
                if last and _is_whole(last):
                    handle.seek(0, 2)
                    handle.write(b"\n")
                elif last:
                    handle.truncate(start)
            return cls(path, path.open("a", encoding="utf-8"))
        except OSError as error:
            raise _cannot_write(path, error) from error

    def write(self, line: Line) -> None:
        self.write_text(json.dumps(line, ensure_ascii=False, allow_nan=False))

    def write_text(self, line: str) -> None:
        """Write a line that is JSON already."""
        self._handle.write(line + "\n")
        self._handle.flush()

    def close(self) -> None:
        self._handle.close()


def is_unborn(path: Path) -> bool:
    """Whether a file holds nothing of a run, or less than its first line: what is left where the disk was full."""
    try:
        with path.open("rb") as handle:
            first = handle.readline()
            more = bool(handle.read(1))
    except OSError as error:
        raise RunFileError(f"cannot read the run file '{path}': {error.strerror or error}") from error
    text = first.strip(b"\0 \r\n")
    if more or first.endswith(b"\n"):
        return not text and not more
    return text[: len(_OPENING)] == _OPENING[: len(text)] and not _is_whole(text)


def _unended(handle: IO[bytes]) -> tuple[int, bytes]:
    """What follows the last newline of a file, and where it begins."""
    start, last = handle.seek(0, 2), b""
    while start and b"\n" not in last:
        size = min(_BLOCK, start)
        start -= size
        handle.seek(start)
        last = handle.read(size) + last
    ended = last.rfind(b"\n") + 1
    return start + ended, last[ended:]


def _is_whole(text: bytes) -> bool:
    try:
        return isinstance(parse_line(text), dict)
    except ValueError:
        return False


def _cannot_write(path: Path, error: OSError) -> RunFileError:
    return RunFileError(f"cannot write the run file '{path}': {error.strerror or error}")
