"""One process at a time writes in a run folder; whoever comes second is told who does, and since when."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pytest_vla.run.file import RunFileError
from pytest_vla.run.places import FILE_NAME

if sys.platform != "win32":
    import fcntl

LOCK_NAME = ".lock"


class RunLock:
    """A lock that the kernel lets go of when its process ends, however it ends; what it says of itself is a note."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    @classmethod
    def take(cls, folder: Path) -> RunLock:
        """Lock the folder, which must exist; RunFileError where another process has it."""
        path = folder / LOCK_NAME
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise RunFileError(
                    f"cannot write the run file '{folder / FILE_NAME}': {error.strerror or error}"
                ) from error
            try:
                _lock(descriptor)
            except BlockingIOError:
                holder = _holder(os.pread(descriptor, 4096, 0))
                os.close(descriptor)
                raise RunFileError(
                    f"the run folder '{folder}' is in use by {holder}. Wait until it has ended, or choose another "
                    "--vla-run-dir"
                ) from None
            if _is_there(path, descriptor):
                break
            os.close(descriptor)  # the one before took its file away between our opening and locking it
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now().isoformat(" ", "seconds")}
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        return cls(path, descriptor)

    def release(self) -> None:
        """Take the file away while it is still ours, and let go; twice is once."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._descriptor)
            self._descriptor = -1


def is_held(folder: Path) -> bool:
    """Whether a process writes in the folder now; where there are no locks, whether one says that it does."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(descriptor)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return sys.platform == "win32"


def _lock(descriptor: int) -> None:
    """BlockingIOError where another has it. Windows, and file systems that know no locks, go without."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(note: bytes) -> str:
    try:
        about = json.loads(note)
        return f"process {about['pid']} on {about['host']} since {about['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
