"""Two hosts on one machine: network namespaces with a wire between them, that share no folder of the user's."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PORT = 6399
RAY = str(Path(sys.executable).parent / "ray")


def possible() -> str | None:
    """Why there can be no such hosts here, or None."""
    if os.name != "posix" or os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"network namespaces need `{program}`"
    name = f"vla-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


class Hosts:
    """A Ray head on the first host and a node on the second. `work` is a folder that only the first one has."""

    def __init__(self, work: Path, cores: tuple[int, int] = (3, 3), net: int = 77) -> None:
        self.work, self.cores = work, cores
        self.names = [f"vla{net}a", f"vla{net}b", f"vla{net}c"]
        self.addresses = [f"10.{net}.0.{last}" for last in (1, 2, 3)]
        self.environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.environment["RAY_USAGE_STATS_ENABLED"] = "0"
        self._empty = tempfile.mkdtemp()
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Hosts:
        self._remove_network()
        bridge = f"{self.names[0]}br"
        for name in self.names:
            _ip("netns", "add", name)
        _ip("-n", self.names[2], "link", "add", bridge, "type", "bridge")
        for name, address in zip(self.names, self.addresses, strict=True):
            _ip("link", "add", f"{name}i", "type", "veth", "peer", "name", f"{name}o")
            _ip("link", "set", f"{name}i", "netns", name)
            _ip("link", "set", f"{name}o", "netns", self.names[2])
            _ip("-n", self.names[2], "link", "set", f"{name}o", "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", f"{name}i")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", f"{name}i", "up")
        _ip("-n", self.names[2], "link", "set", bridge, "up")
        try:
            self.start(0)
            self.start(1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for number in reversed(list(self._started)):
            self.stop(number)
        self._remove_network()
        shutil.rmtree(self._empty, ignore_errors=True)

    def start(self, number: int) -> None:
        """Start Ray on a host, and wait until it has joined."""
        address = self.addresses[number]
        where = ["--head", f"--port={PORT}", "--include-dashboard=false"]
        if number:
            where = [f"--address={self.addresses[0]}:{PORT}"]
        command = [RAY, "start", "--block", "--disable-usage-stats", f"--node-ip-address={address}"]
        command += [f"--num-cpus={self.cores[number]}", *where]
        hidden = "" if number == 0 else f"mount -t tmpfs none {self.work} && cd {self._empty} && "
        script = f"mkdir -p /tmp/ray && mount -t tmpfs none /tmp/ray && {hidden}exec {' '.join(command)}"
        log = open(f"{self._empty}/{number}.log", "ab")  # noqa: SIM115
        self._started[number] = subprocess.Popen(
            ["ip", "netns", "exec", self.names[number], "unshare", "-m", "sh", "-c", script],
            stdout=log,
            stderr=log,
            env=self.environment,
            start_new_session=True,
        )
        log.close()
        until = time.monotonic() + 90
        while "This command will now block" not in Path(f"{self._empty}/{number}.log").read_text():
            if time.monotonic() > until or self._started[number].poll() is not None:
                raise RuntimeError(Path(f"{self._empty}/{number}.log").read_text()[-2000:])
            time.sleep(0.2)

    def stop(self, number: int) -> None:
        """End everything of a host, as a power cut does."""
        self._started.pop(number)
        for process in self.processes(number):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        Path(f"{self._empty}/{number}.log").write_text("")

    def processes(self, number: int) -> list[int]:
        """All processes of a host."""
        found = subprocess.run(["ip", "netns", "pids", self.names[number]], capture_output=True, text=True)
        return [int(each) for each in found.stdout.split()]

    def find(self, number: int, *words: str) -> list[int]:
        """The processes of a host whose command has all these words."""
        found = []
        for process in self.processes(number):
            with suppress(OSError):
                command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if all(word in command for word in words):
                    found.append(process)
        return found

    def on(self, number: int, command: list[str]) -> list[str]:
        """The command as it runs on a host, with that host's folders; the third one has no Ray."""
        if number == 2:
            return ["ip", "netns", "exec", self.names[2], *command]
        raylet = self.find(number, "raylet/raylet")[0]
        return ["nsenter", f"--target={raylet}", "--net", "--mount", f"--wd={self.work}", "--", *command]

    @property
    def engine(self) -> str:
        return f"--vla-engine=ray:{self.addresses[0]}:{PORT}"

    def _remove_network(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
