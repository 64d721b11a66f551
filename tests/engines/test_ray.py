"""A run on a real Ray cluster is the run on one machine: on a local Ray, and on two hosts that share no folder."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.cluster_hosts import Hosts, possible
from benchmarks.cluster_kills import Kill, answers, command, episodes_of, prepare, reference_of

ray = pytest.importorskip("ray")
EPISODES = 10


def run(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    typed = command("runs/here", *options, episodes=EPISODES)
    return subprocess.run(typed, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def reference(work: Path) -> dict[tuple[str, int], tuple[str, str]]:
    return reference_of(work, EPISODES)


@pytest.mark.slow
def test_a_local_ray_is_started_for_the_run_and_ends_with_it(work, reference):
    done = run(work, "--vla-engine=ray", "-n2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert answers(episodes_of(work / "runs/here/run.jsonl")) == reference
    kept = json.loads((work / "runs/here/run.jsonl").read_text().splitlines()[0])
    assert kept["options"]["engine"] == "ray"
    until = time.monotonic() + 20
    while _raylets(work) and time.monotonic() < until:
        time.sleep(0.2)
    assert not _raylets(work)


HUNT = """
import os
import time
from pathlib import Path
import pytest_vla as vla
from test_painted import PaintedSuite


@vla.hunt(PaintedSuite(), axes=["language.case"], task="look0", partition="all", episodes=40)
def test_calm(policy, env, episode, perturbation):
    path = Path(os.environ["PYTEST_VLA_PLAYERS"])
    with path.open("a") as players:
        players.write(f"{os.getpid()}\\n")
    until = time.monotonic() + 60  # a busy machine may start the second worker when the first has played all
    while len(set(path.read_text().split())) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert not vla.rollout(policy, env, episode, perturbation).instruction.isupper()
"""


@pytest.mark.slow
def test_workers_of_a_cluster_share_a_hunt_and_what_it_keeps_is_on_the_driver(work):
    (work / "test_calm.py").write_text(HUNT)
    players = work / "players"
    typed = [sys.executable, "-m", "pytest", "test_calm.py", "--vla-policy=mean_policy:make", "-q", "-n2"]
    options = ["--vla-engine=ray", "--vla-hunt-seed=0", "--vla-run-dir=runs/hunt", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_VLA_PLAYERS": str(players), "PYTEST_VLA_STEP_S": "0.01"}
    done = subprocess.run([*typed, *options], cwd=work, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "language.case=2" in done.stdout
    lines = [json.loads(line) for line in (work / "runs/hunt/run.jsonl").read_text().splitlines()]
    (hunt,) = (line for line in lines if line["type"] == "hunt")
    assert sum(line["type"] == "probe" for line in lines) == hunt["episodes"] == 40
    shares = Counter(players.read_text().split())
    assert len(shares) == 2
    assert min(shares.values()) >= 5
    (cause,) = hunt["causes"]
    assert (work / "runs/hunt" / cause["picture"]).read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in (work / "runs/hunt").iterdir() if path.name == "hunt-crews"] == []
    assert any((work / ".vla-hunts").iterdir())


def _raylets(work: Path) -> list[str]:
    """Ray's processes that were started from this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd") == str(work) and b"ray" in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vla-engine=ray"], "add -n WORKERS"),
        (
            ["--vla-engine=ray", "-n2", "--vla-suite=painted", "--vla-record=demos"],
            "--vla-record writes to a folder of this machine",
        ),
        (["--vla-engine=slurm", "-n2"], "--vla-engine must be ray or ray:HEAD:PORT, got 'slurm'"),
        (["--vla-engine=ray:127.0.0.1:1", "-n2"], "no Ray cluster at 127.0.0.1:1"),
        (["--vla-wire=png"], "--vla-wire must be raw, jpeg or auto, got 'png'"),
    ],
)
def test_what_cannot_be_is_one_line(work, options, message):
    done = run(work, *options)
    assert done.returncode == 4
    assert message in done.stdout + done.stderr


def test_without_ray_one_line_says_what_to_install(work, tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError('no such thing')")
    done = run(work, "--vla-engine=ray", "-n2", PYTHONPATH=str(tmp_path))
    assert done.returncode == 4
    assert '--vla-engine=ray needs Ray: pip install "pytest-vla[ray]"' in done.stdout + done.stderr


@pytest.fixture(scope="module")
def hosts(work: Path) -> Iterator[Hosts]:
    why = possible()
    if why is not None:
        pytest.skip(why)
    with Hosts(work, net=90 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])) as made:
        yield made


LOOK = """
import socket, sys
closed = []
for text in sys.argv[1:]:
    host, port = text.rsplit(":", 1)
    with socket.socket() as sock:
        sock.settimeout(3)
        try:
            sock.connect((host, int(port)))
            sock.sendall(b'{"token": "guess", "arguments": ["-c", "print(1)"]}\\n' + b"0" * 64)
            closed.append(sock.recv(1) == b"")
        except (ConnectionError, TimeoutError):
            closed.append(True)
print(all(closed), len(closed))
"""


@pytest.mark.slow
def test_two_hosts_that_share_no_folder_give_the_same_digests_and_open_no_door(hosts, work, reference):
    typed = command("runs/hosts", hosts.engine, "-n4", episodes=EPISODES)
    environment = {**hosts.environment, "PYTEST_VLA_STEP_S": "0.1"}
    driver = subprocess.Popen(hosts.on(0, typed), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while len(episodes_of(work / "runs/hosts/run.jsonl")) < 4:
        assert driver.poll() is None, driver.stdout.read().decode()
        time.sleep(0.1)
    seats = [hosts.find(number, "ray::Seat") for number in (0, 1)]
    doors = [door for number in (0, 1) for door in _listening(hosts, number, "ray::Seat", "ray::Replica")]
    assert all(seats), "both hosts have workers"
    replicas = [door for number in (0, 1) for door in _listening(hosts, number, "ray::Replica")]
    ours = [door for door in doors if door.split(":")[0] in hosts.addresses]
    assert replicas
    looked = subprocess.run(hosts.on(2, [sys.executable, "-c", LOOK, *ours]), capture_output=True, text=True)
    assert looked.stdout.split() == ["True", str(len(ours))], looked.stdout + looked.stderr
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0, said.decode()
    assert answers(episodes_of(work / "runs/hosts/run.jsonl")) == reference


def _listening(hosts: Hosts, number: int, *names: str) -> list[str]:
    """The addresses on which processes of these names listen on a host."""
    found = []
    for name in names:
        for process in hosts.find(number, name):
            inodes = set()
            for each in Path(f"/proc/{process}/fd").iterdir():
                try:
                    inodes.add(os.readlink(each).removeprefix("socket:[").removesuffix("]"))
                except OSError:
                    continue
            for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    address, port = fields[1].split(":")
                    host = socket.inet_ntoa(int(address, 16).to_bytes(4, "little"))
                    found.append(f"{host}:{int(port, 16)}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("what", ["actor", "replica", "driver", "raylet"])
def test_a_kill_loses_redoes_and_doubles_nothing(hosts, reference, what):
    kill = Kill(hosts, what, f"kill-{what}", 0.05, random.Random(what), EPISODES)
    assert kill.go(reference) == []
