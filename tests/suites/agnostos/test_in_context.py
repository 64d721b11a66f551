"""The in-context policy end to end: demonstrations recorded by a command, a scripted model behind a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_vla import get_suite, rollout
from pytest_vla.inference.session import local_source
from pytest_vla.options import InferenceOptions
from pytest_vla.policies import PolicyError, load_policy
from pytest_vla.train.dataset import read_dataset
from suites.agnostos.policy.grid import HOME, decoded, encoded
from suites.agnostos.policy.places import places_of, points_of, seen_points

SUITE = "agnostos_floating"
TASKS = ("push_buttons", "open_drawer", "close_jar")
EPISODES = 2


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of three seen tasks, recorded as a person would."""
    folder = tmp_path_factory.mktemp("seen")
    record(folder, SUITE, ",".join(TASKS), "seen", EPISODES)
    return folder / "demos"


def record(folder: Path, suite: str, tasks: str, partition: str, episodes: int) -> None:
    subprocess.run(
        [sys.executable, "-m", "pytest_vla.cli", "record", "--out=demos", "--cameras=front", f"--suite={suite}",
         f"--task={tasks}", f"--partition={partition}", f"--episodes={episodes}"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


@contextmanager
def model(answer: Callable[[str], str | bytes]) -> Iterator[str]:
    """A chat endpoint whose model is a function of the user's message; raw bytes are sent as they are."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = answer(asked["messages"][-1]["content"])
            body = text if isinstance(text, bytes) else _completion(text)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def moved_nearest(prompt: str) -> str:
    """The actions of the first example, moved as far as its first thing is from the query's first thing."""
    actions = json.loads(re.search(r"\]>(\[\[.*?\]\])", prompt).group(1))  # type: ignore[union-attr]
    places = [json.loads(place) for place in re.findall(r"\{'[^']*': (\[[^\]]*\])", prompt)]
    shift = np.subtract(places[-1], places[0])
    return str([[*np.add(action[:3], shift).tolist(), *action[3:]] for action in actions])


def _situation(task: str, partition: str) -> tuple[Any, Any, Any]:
    suite = get_suite(SUITE)
    env, key = suite.make_env(task), suite.episode(task, partition, 0)
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    return env, key, observation


def played(text: str, env: Any, key: Any) -> Any:
    """A rollout with the policy as a run would ask it."""
    source = local_source(InferenceOptions(policy=text))
    return rollout(source.bind(get_suite(SUITE), env), env, key)


def test_things_are_where_the_cameras_measure_them() -> None:
    env, _, observation = _situation("close_jar", "seen")
    camera = observation["scan"]["cameras"]["overhead"]
    lid = observation["scan"]["things"].index("lid") + 1
    seen = points_of(camera)[camera["mask"] == lid].mean(axis=0)
    assert seen[:2] == pytest.approx(env.unwrapped.table.pose("lid").position[:2], abs=0.01)
    table = points_of(camera)[camera["mask"] == 0]
    assert np.median(table[:, 2]) == pytest.approx(0.752, abs=1e-3)
    env.close()


def test_squares_that_are_only_painted_on_the_table_are_measured_too() -> None:
    env, _, observation = _situation("slide_block_to_color_target", "seen")
    table = env.unwrapped.table
    seen = seen_points(observation)
    squares = [name for name in observation["scan"]["things"] if name.startswith("square")]
    assert len(squares) == 4
    for name in squares:
        overhead = np.concatenate(seen[name]).mean(axis=0)
        assert overhead[:2] == pytest.approx(table.pose(name).position[:2], abs=0.03)
    env.close()


def test_the_pipeline_comes_to_the_actions_computed_by_hand(demos: Path) -> None:
    """With one demonstration shown, and a model that moves it along, every number can be told in advance."""
    env, key, observation = _situation("lamp_on", "unseen_level1")
    with model(moved_nearest) as url:
        policy = load_policy(f"xicm:{url}?model=any&demos={demos}&shown=1").bind(get_suite(SUITE), env)
        state = policy.reset(key)
        (action,) = policy.act([observation], [state])
    nearest = next(demo for demo in read_dataset(demos) if demo.task == "push_buttons")
    there = next(demo for demo in policy.memory.demos if demo.task == "push_buttons" and demo.index == nearest.index)
    shift = np.subtract(*(next(iter(p.values())) for p in (places_of(observation), there.example.situation.objects)))
    first, *rest = [encoded(row) for row in nearest.action]
    assert action == pytest.approx(decoded((*(np.array(first[:3]) + shift).tolist(), *first[3:])))
    assert state.actions == [(*(np.array(code[:3]) + shift).tolist(), *code[3:]) for code in rest]
    env.close()


def test_when_the_list_has_run_out_the_model_is_asked_again(demos: Path) -> None:
    env, key, observation = _situation("push_buttons", "seen")
    asked: list[str] = []
    with model(lambda prompt: asked.append(prompt) or str([list(HOME)] * 2)) as url:  # type: ignore[func-returns-value]
        policy = load_policy(f"xicm:{url}?model=any&demos={demos}").bind(get_suite(SUITE), env)
        state = policy.reset(key)
        for count in (1, 1, 2, 2, 3):
            policy.act([observation], [state])
            assert len(asked) == state.calls == count
    assert asked[0].count("'instruction'") == len(TASKS) * EPISODES + 1
    env.close()


@pytest.mark.parametrize(
    ("answer", "outcome", "reason", "message"),
    [
        ("[[1,2,3", "unsolved", "step_limit", "answer 25 of the model was not used: no action in '[[1,2,3'"),
        ("[[999,999,999,0,0,0,1]]", "unsolved", "invalid_action", "outside the workspace"),
        ("[[\u202e1,2,3,4,5,6,7]]", "unsolved", "step_limit", "not whole numbers"),
        (b"<html>nonsense</html>", "error", "policy_error", "did not answer like a chat endpoint"),
        (_completion("x")[:-3], "error", "policy_error", "did not answer like a chat endpoint"),
    ],
)
def test_a_wrong_cut_or_hostile_answer_is_a_reason(
    demos: Path, answer: str | bytes, outcome: str, reason: str, message: str
) -> None:
    env, key, _ = _situation("lamp_on", "unseen_level1")
    with model(lambda prompt: answer) as url:
        result = played(f"xicm:{url}?model=any&demos={demos}", env, key)
    assert (result.outcome, result.reason) == (outcome, reason)
    assert message in result.message
    env.close()


def test_an_endpoint_that_is_not_there_is_said(demos: Path) -> None:
    env, key, _ = _situation("lamp_on", "unseen_level1")
    result = played(f"xicm:http://127.0.0.1:9/v1?model=any&demos={demos}", env, key)
    assert (result.outcome, result.reason) == ("error", "server_lost")
    assert "http://127.0.0.1:9/v1" in result.message
    env.close()


URL = "xicm:http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{URL}?demos=DEMOS", "does not say which model to ask: add ?model=NAME"),
        (f"{URL}?model=m", "add &demos=FOLDER"),
        (f"{URL}?model=m&demos=nowhere", "'nowhere' is no dataset"),
        (f"{URL}?model=m&demos=DEMOS&select=best", "unknown selection 'best'"),
        (f"{URL}?model=m&demos=DEMOS&chosen=3", "unknown setting 'chosen'"),
        (f"{URL}?model=m&demos=DEMOS&shown=0", "must be a whole number of 1 or more"),
        (f"{URL}?model=m&demos=DEMOS&parsing=loose", "unknown parsing 'loose'"),
        (f"{URL}?model=m&demos=DEMOS&features=none.npz", "cannot read the features in 'none.npz'"),
        (f"{URL}?model=m&demos=DEMOS&outcome=none.pt", "there is no checkpoint 'none.pt'"),
    ],
)
def test_bad_input_is_one_clear_message(demos: Path, text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)):
        load_policy(text.replace("DEMOS", str(demos)))


@pytest.mark.parametrize(
    ("suite", "task", "partition", "message"),
    [
        ("vima", "rotate", "placement_generalization", "demonstrations of suite 'vima', not of agnostos"),
        (SUITE, "lamp_on", "unseen_level1", "of the unseen task 'lamp_on': only seen tasks may be shown"),
    ],
)
def test_what_must_not_be_shown_is_refused(tmp_path: Path, suite: str, task: str, partition: str, message: str) -> None:
    record(tmp_path, suite, task, partition, 1)
    with pytest.raises(PolicyError, match=re.escape(message)):
        load_policy(f"{URL}?model=m&demos={tmp_path / 'demos'}")


def test_it_runs_by_name(demos: Path, pytester: pytest.Pytester) -> None:
    """The whole way as typed: a model that says how the first demonstration went presses the wrong place, in words."""
    with model(moved_nearest) as url:
        result = pytester.runpytest_subprocess(
            f"--vla-policy=xicm:{url}?model=any&demos={demos}", f"--vla-suite={SUITE}", "--vla-task=lamp_on",
            "--vla-episodes=1", "--vla-run-dir=run",
        )  # fmt: skip
    result.stdout.fnmatch_lines(["*0 of 1 episodes solved, 0 errors*"])
