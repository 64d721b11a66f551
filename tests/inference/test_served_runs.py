"""Whole runs: the same results with a server and without, and a run that goes on when the server does not."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from leftovers import running_in

pytestmark = pytest.mark.usefixtures("nothing_left")

FOLDER = Path(__file__).parent
TIMES = ("seconds", "timings")


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    """A folder with torch policies: `net.pt` and `chunks.pt`."""
    folder = tmp_path_factory.mktemp("nets")
    shutil.copy(FOLDER / "camera_net.py", folder)
    subprocess.run([sys.executable, "camera_net.py"], cwd=folder, check=True)
    return folder


@pytest.fixture
def camera(reach, nets):
    """A project with an image suite and torch policies."""
    shutil.copy(FOLDER / "camera_suite.py", reach.path / "test_camera.py")
    shutil.copytree(nets, reach.path, dirs_exist_ok=True)
    reach.makepyprojecttoml('[tool.pytest_vla]\ntrust_policy = ["camera_net"]\n')
    return reach


@pytest.fixture
def faulty(reach):
    """A project with the policies of `faults.py`."""
    shutil.copy(FOLDER / "faults.py", reach.path)
    return reach


def lines(run):
    return [json.loads(line) for line in (run / "run.jsonl").read_text().splitlines()]


def without_times(run):
    """Every episode of a run, in one order, as text without the fields that measure time."""
    episodes = [record for record in lines(run) if record["type"] == "episode"]
    return sorted(json.dumps({k: v for k, v in r.items() if k not in TIMES}, sort_keys=True) for r in episodes)


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "numbers"), [("net.pt", ([], ["-n1"], ["-n4"])), ("chunks.pt", ([], ["-n2"]))])
def test_deterministic_runs_are_the_same_bits_at_any_n(camera, torch, policy, numbers):
    runs = {}
    for workers in numbers:
        name = "run" + "".join(workers)
        result = camera.runpytest(
            "test_camera.py", f"--vla-policy={policy}", "--vla-deterministic", "--vla-episodes=12",
            f"--vla-run-dir={name}", *workers,
        )  # fmt: skip
        assert result.ret in (0, 1)
        runs[name] = without_times(camera.path / name)
    assert len(runs["run"]) == 12
    assert all(json.loads(record)["outcome"] != "error" for record in runs["run"])
    for name, episodes in runs.items():
        assert episodes == runs["run"], name


@pytest.mark.slow
def test_only_the_server_imports_torch_and_only_it_grows_by_the_model(camera):
    camera.makepyfile(
        big="""
        import numpy as np, torch, pytest_vla as vla
        class Big(vla.Policy):
            def __init__(self):
                self.weights = torch.ones(100_000_000)  # 400 MB
            def act(self, observations, states):
                return [np.zeros(2) for _ in observations]
    """
    )
    camera.makeconftest("""
        import json, re, sys
        def pytest_sessionfinish(session):
            name = getattr(session.config, "workerinput", {}).get("workerid", "controller")
            # Not getrusage: its peak remembers the process that forked this one.
            peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
            with open(f"{name}.json", "w") as file:
                json.dump({"torch": "torch" in sys.modules, "peak_mb": peak}, file)
    """)
    result = camera.runpytest_subprocess("test_camera.py", "--vla-policy=big:Big", "--vla-episodes=4", "-n3")
    result.stdout.fnmatch_lines(["*inference: 48 requests*"])
    found = {
        name: json.loads((camera.path / f"{name}.json").read_text()) for name in ("controller", "gw0", "gw1", "gw2")
    }
    assert not any(process["torch"] for process in found.values())
    assert max(process["peak_mb"] for process in found.values()) < 250, found


def test_a_run_with_workers_says_what_the_server_did(reach):
    result = reach.runpytest("--vla-policy=test_reach:GoStraight", "-n2", "--vla-run-dir=run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*inference: * requests in * batches of *, queue * ms, compute * ms*, transport * ms*"]
    )
    (record,) = [record for record in lines(reach.path / "run") if record["type"] == "inference"]
    assert record["requests"] == sum(int(size) * count for size, count in record["batch_sizes"].items())
    episode = next(record for record in lines(reach.path / "run") if record["type"] == "episode")
    assert {"queue", "compute", "transport"} <= episode["timings"].keys()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("missing.pt", "*there is no checkpoint 'missing.pt'*"),
        ("bad:broken_factory", "*raised RuntimeError: no weights today*"),
        ("bad:nothing", "*module 'bad' has no 'nothing'*"),
    ],
)
def test_a_policy_the_server_cannot_load_is_one_usage_error(reach, policy, message):
    result = reach.runpytest("test_reach.py", f"--vla-policy={policy}", "-n1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str()


def test_a_policy_that_does_not_fit_is_found_before_the_first_episode(reach):
    result = reach.runpytest("test_reach.py", "--vla-policy=bad:NeedsACamera", "-n1")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["skipped 40: suite 'reach' does not fit: the policy needs camera 'wrist'*"])


def test_a_server_killed_in_a_run_costs_the_episodes_that_waited_for_it(reach, read_episodes):
    result = reach.runpytest(
        "--vla-policy=bad:KillsItsWorker", "--vla-task=near", "--vla-partition=calm",
        "--vla-episodes=6", "-n1", "--vla-run-dir=run",
    )  # fmt: skip
    episodes = read_episodes(reach.path / "run")
    assert len(episodes) == 6
    lost = episodes.pop("reach/near-calm-01")
    assert (lost["outcome"], lost["reason"]) == ("error", "server_lost")
    assert {r["outcome"] for r in episodes.values()} == {"unsolved"}
    result.stdout.fnmatch_lines(["*a server was killed by SIGKILL and was started again*"])


@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        ("bad:WrongShape", "policy_error", "must have shape (2,), got shape (7,)"),
        ("bad:Nan", "policy_error", "must be finite"),
        ("bad:Raises", "policy_error", "the model fell over"),
        ("bad:TooFew", "policy_error", "returned 0 actions"),
        ("bad:Hangs", "timeout", "no result within 1 s"),
        ("faults:TooLarge", "policy_error", "CUDA out of memory"),
    ],
)
def test_a_served_policy_that_breaks_its_contract_is_an_error_with_a_reason(
    faulty, read_episodes, policy, reason, message
):
    faulty.runpytest(
        f"--vla-policy={policy}", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=2",
        "--vla-timeout=1", "--vla-run-dir=run", "-n1",
    )  # fmt: skip
    episodes = read_episodes(faulty.path / "run")
    assert {(r["outcome"], r["reason"]) for r in episodes.values()} == {("error", reason)}
    assert all(message in r["message"] for r in episodes.values())


@pytest.mark.parametrize(("policy", "lost"), [("SmallMemory", []), ("SlowStart", []), ("SlowRestart", ["server_lost"])])
def test_what_a_server_can_get_over_costs_no_other_episode(faulty, read_episodes, policy, lost):
    faulty.runpytest(
        f"--vla-policy=faults:{policy}", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=6",
        "--vla-run-dir=run", "-n1" if lost else "-n3",
    )  # fmt: skip
    episodes = read_episodes(faulty.path / "run")
    assert len(episodes) == 6
    assert [r["reason"] for r in episodes.values() if r["outcome"] != "unsolved"] == lost


def test_a_deterministic_run_says_when_a_model_has_to_be_called_row_by_row(faulty):
    found = {}
    for policy in ("faults:Placed", "faults:Idle"):
        run = policy.partition(":")[2]
        result = faulty.runpytest(
            f"--vla-policy={policy}", "--vla-deterministic", "--vla-task=near", "--vla-partition=calm",
            "--vla-episodes=2", f"--vla-run-dir={run}", "-n1",
        )  # fmt: skip
        (found[run],) = [record for record in lines(faulty.path / run) if record["type"] == "inference"]
        said = [line for line in result.outlines if line.startswith("inference:")]
        assert ["row by row" in line for line in said] == [run == "Placed"]
    assert found["Placed"]["row_by_row"] == found["Placed"]["requests"] > 0
    assert "row_by_row" not in found["Idle"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_a_run_is_stopped(reach, end):
    command = [sys.executable, "-m", "pytest", "--vla-policy=bad:Slow", "-n2", "--vla-run-dir=run"]
    process = subprocess.Popen(command, cwd=reach.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = reach.path / "run" / "run.jsonl"
    until(lambda: path.exists() and '"episode"' in path.read_text())
    assert sum("pytest_vla.inference.server" in command for command in running_in(reach.path).values()) == 1
    process.send_signal(end)
    process.wait()


def test_a_killed_worker_leaves_the_server_to_the_others(reach, read_episodes):
    reach.makeconftest(
        """
        import os, signal
        def pytest_runtest_call(item):
            if "near-calm-01" in item.nodeid:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    reach.runpytest("--vla-policy=test_reach:GoStraight", "-n2", "--vla-run-dir=run", "--vla-episodes=3")
    episodes = read_episodes(reach.path / "run")
    assert episodes.pop("reach/near-calm-01")["reason"] == "worker_lost"
    assert {r["outcome"] for r in episodes.values()} == {"solved"}


def test_an_automatic_batch_is_chosen_from_both_curves(reach):
    result = reach.runpytest(
        "--vla-policy=bad:Slow", "-n2", "--vla-batch=auto", "--vla-episodes=6", "--vla-run-dir=run"
    )
    result.stdout.fnmatch_lines(["*inference: batch * chosen; supply in actions/s by batch size: 1: *, 2: *"])
    result.stdout.fnmatch_lines(["*inference: demand in observations/s by number of simulators: 2: *"])


def test_chunks_need_no_request_on_the_steps_they_cover(reach):
    reach.makepyfile(
        planner="""
        import numpy as np, pytest_vla as vla
        class Planner(vla.Policy):
            spec = vla.PolicySpec(chunk=5)
            def act(self, observations, states):
                return [np.zeros((5, 2)) for _ in observations]
    """
    )
    arguments = ["--vla-policy=planner:Planner", "-n1", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=2"]
    result = reach.runpytest(*arguments)
    result.stdout.fnmatch_lines(["*inference: 4 requests in *"])
    result = reach.runpytest(*arguments, "--vla-horizon=2", "--vla-ensemble=mean")
    result.stdout.fnmatch_lines(["*inference: 10 requests in *"])


def test_a_served_episode_with_chunks_replays_bit_for_bit(reach, monkeypatch, capsys):
    reach.makepyfile(
        planner="""
        import numpy as np, pytest_vla as vla
        class Planner(vla.Policy):
            spec = vla.PolicySpec(chunk=5)
            def act(self, observations, states):
                way = [(o["state"]["goal"] - o["state"]["at"]) / 8 for o in observations]
                return [np.linspace(w, w / 2, 5) for w in way]
    """
    )
    reach.runpytest(
        "test_reach.py", "--vla-policy=planner:Planner", "--vla-horizon=3", "--vla-ensemble=mean", "-n1",
        "--vla-run-dir=run", "--vla-task=far", "--vla-episodes=1",
    )  # fmt: skip
    command = [sys.executable, "-m", "pytest_vla.cli", "replay", "run", "reach/far-windy-00", "--trust"]
    replayed = subprocess.run(command, cwd=reach.path, capture_output=True, text=True)
    assert "the digest matches" in replayed.stdout, replayed


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--vla-batch=0", "*--vla-batch must be a whole number, 1 or more, or auto*"),
        ("--vla-ensemble=median", "*--vla-ensemble must be newest, mean or exponential*"),
    ],
)
def test_a_bad_inference_option_is_a_usage_error(reach, argument, message):
    result = reach.runpytest("test_reach.py", "--vla-policy=noop", argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("workers", [[], ["-n1"]])
def test_an_exception_with_a_reason_of_its_own_is_an_error_of_the_policy(faulty, read_episodes, workers):
    faulty.runpytest("--vla-policy=faults:CannotRead", "--vla-run-dir=run", "--vla-episodes=1", *workers)
    records = read_episodes(faulty.path / "run").values()
    assert {record["reason"] for record in records} == {"policy_error"}
    assert all("UnicodeDecodeError" in record["message"] for record in records)


def test_a_server_computes_in_the_precision_that_was_asked_for(camera):
    """And a run in another precision is a run of another policy: resume refuses it."""
    arguments = ("test_camera.py", "--vla-policy=net.pt", "--vla-run-dir=run", "-n", "1")
    assert camera.runpytest_subprocess(*arguments, "--vla-dtype=bfloat16").ret in (0, 1)
    first = json.loads((camera.path / "run" / "run.jsonl").read_text().splitlines()[0])
    assert first["policy"]["digest"].endswith("+bfloat16")
    refused = camera.runpytest_subprocess(*arguments, "--vla-resume")
    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*+bfloat16*"])
