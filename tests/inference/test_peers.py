"""The real vla-eval, the real openpi client and openpi's own server, from an environment of their own.

`PYTEST_VLA_PEER_PYTHON` names its Python: one with vla-eval==0.8.0 and openpi-client installed. `OPENPI_ROOT` is a
checkout of Physical-Intelligence/openpi, whose server is on no package index.
"""

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from pytest_vla.cli import main
from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.chunking import Chunked
from pytest_vla.policies.websocket import connect_policy
from pytest_vla.run import Tally, read_run

PEERS = Path(__file__).parent / "peers"
PYTHON = os.environ.get("PYTEST_VLA_PEER_PYTHON", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="set PYTEST_VLA_PEER_PYTHON to a Python with vla-eval and openpi-client"),
]


@pytest.fixture
def port(monkeypatch):
    """`pytest-vla serve` with the checksum policy."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    command = [sys.executable, "-m", "pytest_vla.cli", "serve", "served:Checksum", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield int(line.partition("ws://127.0.0.1:")[2].split()[0])
        process.kill()


@pytest.fixture
def model_server():
    """The address of a real vla-eval model server."""
    with subprocess.Popen([PYTHON, PEERS / "model_server.py"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.parametrize("saving", [["--no-save"], []], ids=["printed", "saved"])
def test_vla_eval_runs_an_evaluation_against_our_server(port, tmp_path, saving):
    config = {
        "server": {"url": f"ws://127.0.0.1:{port}"},
        "output_dir": str(tmp_path),
        "benchmarks": [{"benchmark": "image_benchmark:ImageBenchmark", "episodes_per_task": 2, "max_steps": 8}],
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    environment = {**os.environ, "PYTHONPATH": str(PEERS)}
    command = [Path(PYTHON).parent / "vla-eval", "run", "-c", tmp_path / "config.yaml", "--no-docker", *saving]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    output = done.stdout + done.stderr
    assert output.count("SUCCESS (steps=8)") == 4, output[-3000:]
    assert "ImageBenchmark: 100.0%" in output
    if not saving:
        _results_become_run_files(tmp_path)


def _results_become_run_files(folder):
    """What vla-eval wrote of these four episodes, and its recording, with the same counts as its own summary."""
    files = {"aggregate": next(folder.rglob("*_aggregate.json"), None), "recording": next(folder.rglob("*.sqlite"))}
    for name, file in files.items():
        if file is None:  # written by `vla-eval export`
            continue
        assert main(["import", str(file), "-o", str(folder / name)]) == 0
        run = read_run(folder / name)
        assert run.once.tally() == Tally(4, 4)
        assert run.completeness(gated=True).finished
        assert {cell.task for cell in run.once.tallies()} == {"echo", "echo_again"}


def test_the_openpi_client_drives_our_server(port):
    command = [PYTHON, PEERS / "openpi_user.py", str(port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["policy served:Checksum", "equal"], done.stderr[-2000:]


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
def test_our_plugin_runs_episodes_against_a_vla_eval_model_server(reach, read_episodes, model_server, workers):
    result = reach.runpytest_subprocess(
        f"--vla-policy={model_server}", "--vla-run-dir=run", "--vla-episodes=3", *workers
    )
    assert result.ret == 0
    assert {r["outcome"] for r in read_episodes(reach.path / "run").values()} == {"solved"}


def test_images_arrive_equal_at_a_vla_eval_model_server(model_server):
    policy, digest = connect_policy(model_server)
    assert digest.startswith("vla-eval:")
    states = [policy.reset(EpisodeKey("s", "t", "p", index)) for index in range(3)]
    images = [np.random.default_rng(index).integers(0, 256, (40, 30, 3), dtype=np.uint8) for index in range(3)]
    actions = policy.act([{"images": {"front": image}, "state": {}} for image in images], states)
    assert [int(action[0]) for action in actions] == [zlib.crc32(image.tobytes()) % 2**20 for image in images]


@pytest.mark.skipif(
    "OPENPI_ROOT" not in os.environ, reason="OPENPI_ROOT names no checkout of Physical-Intelligence/openpi"
)
def test_pictures_state_and_words_arrive_equal_at_openpis_own_server():
    """Its chunks are executed to their end: it is asked at every third step."""
    command = [PYTHON, PEERS / "openpi_server.py", os.environ["OPENPI_ROOT"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            policy, digest = connect_policy(process.stdout.readline().strip())
            assert digest.startswith("openpi:")
            chunked = Chunked(policy)
            for index in range(2):
                state = chunked.reset(EpisodeKey("s", "t", "p", index))
                for step in range(6):
                    image = np.random.default_rng(step).integers(0, 256, (40, 30, 3), dtype=np.uint8)
                    seen = {
                        "images": {"front": image},
                        "state": {"arm": np.full(4, step)},
                        "instruction": f"go {index}",
                    }
                    if step % 3 == 0:
                        words = zlib.crc32(f"go {index}".encode()) % 2**20
                        first = np.array([zlib.crc32(image.tobytes()) % 2**20, 4.0 * step, words])
                    (action,) = chunked.act([seen], [state])
                    assert np.array_equal(action, first + step % 3)
        finally:
            process.kill()
