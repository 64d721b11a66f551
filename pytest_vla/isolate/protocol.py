"""What parent and child say to each other, and the child's half of it. This file also runs alone.

A child is the interpreter of some environment with this file as its script: Python 3.8 or later, with nothing of ours
on its path. So this module imports the standard library only. numpy is used where a world brings it.

A message is a header, a JSON text and the bytes of the arrays in it. What is of any size is put into memory that both
share: its descriptor is sent once, and from then on an observation costs one copy on each side. Standard output is not
part of it: a world may print what it likes.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import runpy
import signal
import socket
import struct
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 4096  # bytes of arrays that go along with the text; more go through shared memory
ALIGNED = 64  # bytes
ARRAY = "\0array"  # the key of an array's description: (dtype, shape, place)
_HEADER = struct.Struct("<IIQB")  # bytes of text, of arrays behind it, of arrays in shared memory; a new descriptor?
_PLAIN = frozenset((str, int, float, bool, type(None)))


class Gone(Exception):
    """The other side closed the connection."""


# --- messages --------------------------------------------------------------------------------------------------------


def flatten(value: Any, arrays: list[tuple[int, Any]], size: int = 0) -> tuple[Any, int]:
    """The value as JSON can hold it, with every array moved to the list; returns it and the bytes that they take."""
    kind = type(value)
    if kind in _PLAIN:
        return value, size
    if kind is dict:
        flat = {}
        for name, item in value.items():
            flat[str(name)], size = flatten(item, arrays, size)
        return flat, size
    if kind in (list, tuple):
        items = []
        for item in value:
            item, size = flatten(item, arrays, size)
            items.append(item)
        return items, size
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        if not value.shape:  # a scalar of numpy
            return flatten(value.item(), arrays, size)
        if value.dtype.hasobject:
            raise TypeError("an array of Python objects cannot cross to another process")
        start = -(-size // ALIGNED) * ALIGNED
        arrays.append((start, value))
        return {ARRAY: [value.dtype.str, list(value.shape), start]}, start + value.nbytes
    if hasattr(value, "items"):
        return flatten(dict(value.items()), arrays, size)
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value), size
    raise TypeError(f"a {kind.__name__} cannot cross to another process: {value!r}"[:200])


def restore(value: Any, memory: Any) -> Any:
    """What `flatten` was given, with arrays of their own."""
    if type(value) is dict:
        described = value.get(ARRAY)
        if described is not None:
            import numpy

            dtype, shape, start = described
            count = 1
            for length in shape:
                count *= length
            return numpy.frombuffer(memory, numpy.dtype(dtype), count, start).reshape(shape).copy()
        return {name: restore(item, memory) for name, item in value.items()}
    if type(value) is list:
        return [restore(item, memory) for item in value]
    return value


class Channel:
    """One end of the connection. `send` and `receive` are whole messages."""

    def __init__(self, sock: socket.socket, attach: Callable[[int], Any] | None = None, shares: bool = False) -> None:
        """Who `shares` puts what is large into shared memory; `attach` maps a descriptor that comes, into a buffer."""
        self.sock, self._attach, self._shares = sock, attach, shares
        self._theirs: Any = None
        self._mine: mmap.mmap | None = None
        self._fd = -1
        self._is_new = False

    def send(self, message: Any) -> None:
        arrays: list[tuple[int, Any]] = []
        flat, size = flatten(message, arrays)
        text = json.dumps(flat, separators=(",", ":")).encode()
        if self._shares and size > SMALL:
            self._write(arrays, size)
            header = _HEADER.pack(len(text), 0, size, self._is_new)
            if self._is_new:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", self._fd))]
                self.sock.sendmsg([header], rights)
                self.sock.sendall(text)
                self._is_new = False
            else:
                self.sock.sendall(header + text)
            return
        body = bytearray(size)
        for start, array in arrays:
            body[start : start + array.nbytes] = array.tobytes()
        self.sock.sendall(_HEADER.pack(len(text), size, 0, False) + text + body)

    def receive(self) -> Any:
        header, fd = self._header()
        length, inline, shared, is_new = _HEADER.unpack(header)
        if is_new:
            if fd is None or self._attach is None:
                raise Gone("a message came without the memory that it is in")
            self._theirs = self._attach(fd)
        text = self._exactly(length)
        memory = self._exactly(inline) if inline else (self._theirs if shared else b"")
        return restore(json.loads(text), memory)

    def close(self) -> None:
        self.sock.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _header(self) -> tuple[bytes, int | None]:
        room = socket.CMSG_SPACE(struct.calcsize("i"))
        data, rights, _, _ = self.sock.recvmsg(_HEADER.size, room)
        fd = None
        for level, kind, value in rights:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                (fd,) = struct.unpack("i", value[: struct.calcsize("i")])
        if not data:
            raise Gone("the other side closed the connection")
        if len(data) < _HEADER.size:
            data += self._exactly(_HEADER.size - len(data))
        return data, fd

    def _exactly(self, length: int) -> bytearray:
        data = bytearray(length)
        view, done = memoryview(data), 0
        while done < length:
            count = self.sock.recv_into(view[done:])
            if not count:
                raise Gone("the other side closed the connection in the middle of a message")
            done += count
        return data

    def _write(self, arrays: list[tuple[int, Any]], size: int) -> None:
        if self._mine is None or len(self._mine) < size:
            self._share(size + size // 4)
        assert self._mine is not None
        for start, array in arrays:
            if not array.nbytes:
                continue
            if not array.flags.c_contiguous:
                array = array.copy(order="C")
            self._mine[start : start + array.nbytes] = memoryview(array).cast("B")

    def _share(self, size: int) -> None:
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        if self._mine is not None:
            os.close(self._fd)
        self._fd = os.memfd_create("world") if hasattr(os, "memfd_create") else _unlinked()
        os.ftruncate(self._fd, size)
        self._mine = mmap.mmap(self._fd, size)
        self._is_new = True


def attached(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor that came."""
    try:
        return mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _unlinked() -> int:
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


# --- the child -------------------------------------------------------------------------------------------------------


class Host:
    """Holds one world at a time, and does what it is asked."""

    def __init__(self, path: str, prepare: list[str]) -> None:
        """`path` is that of the world, before which the scripts in `prepare` run."""
        self.path, self.prepare = path, prepare
        self.module: Any = None
        self.world: Any = None
        self.moment = 0
        self.later: dict[str, Any] = {}

    def open(self, task: str, options: dict[str, Any]) -> None:
        """A world of that task, in place of the one before."""
        self.close()
        if self.module is None:
            for script in self.prepare:
                runpy.run_path(script, run_name="__prepare__")
            spec: Any = importlib.util.spec_from_file_location("world", self.path)
            self.module = importlib.util.module_from_spec(spec)
            sys.modules["world"] = self.module
            spec.loader.exec_module(self.module)
        self.world = self.module.World(task, **options)

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        observation = self.world.reset(seed, episode)
        features = getattr(self.world, "features", None)
        facts = features() if features is not None else {}
        return {**self._seen(observation), "features": facts, **self._state()}

    def step(self, action: Any) -> dict[str, Any]:
        observation, terminated, info = self.world.step(action)
        return {**self._seen(observation), "terminated": bool(terminated), "info": info, **self._state()}

    def draw(self, moment: int, camera: str) -> dict[str, Any]:
        """A picture that was left for later, of this moment."""
        if moment != self.moment:
            raise RuntimeError(f"the picture of '{camera}' was not looked at before the next step: it is gone")
        return {"value": self.later[camera]()}

    def call(self, name: str, arguments: list[Any]) -> dict[str, Any]:
        return {"value": getattr(self.world, name)(*arguments)}

    def close(self) -> None:
        world, self.world = self.world, None
        if world is not None and hasattr(world, "close"):
            world.close()

    def _seen(self, observation: dict[str, Any]) -> dict[str, Any]:
        """An observation; pictures that are functions are drawn when somebody looks at them."""
        self.moment += 1
        images = observation.get("images", {})
        self.later = {camera: image for camera, image in images.items() if callable(image)}
        if not self.later:
            return {"observation": observation}
        drawn = {camera: image for camera, image in images.items() if camera not in self.later}
        later = [self.moment, list(images)]
        return {"observation": {**observation, "images": drawn}, "later": later}

    def _state(self) -> dict[str, Any]:
        progress = getattr(self.world, "progress", None)
        return {"digest": self.world.digest(), "progress": progress() if progress is not None else None}


def serve(channel: Channel, host: Host) -> None:
    """Answer until the parent is gone or says that it is enough."""
    while True:
        try:
            request = channel.receive()
        except (Gone, OSError):
            return
        name, arguments = request
        try:
            answer = getattr(host, name)(*arguments) or {}
            channel.send(answer)
        except (Gone, BrokenPipeError, ConnectionResetError):
            return
        except Exception:
            channel.send({"error": traceback.format_exc().rstrip()[-4000:]})
        if name == "close":
            return


def _die_with_parent() -> None:
    """A world that hangs outside Python would outlive a killed parent: the kernel ends it (on Linux)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except Exception:
        pass


def _limit_memory(limit: int) -> None:
    """A world that eats memory is the first to be ended when the machine has none left, or at a limit of its own."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(arguments: list[str]) -> None:
    descriptor, path, limit, first = int(arguments[0]), arguments[1], int(arguments[2]), arguments[3:]
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != own]
    _die_with_parent()
    _limit_memory(limit)
    serve(Channel(socket.socket(fileno=descriptor), attached, shares=True), Host(path, first))


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # a simulator's destructors may crash; all that matters has been said
