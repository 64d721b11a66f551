"""The object-token policy: what it sees, that rows of a batch do not mix, that it can learn."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from pytest_vla.suites.vima.policy.facts import CAMERA
from pytest_vla.suites.vima.policy.object_tokens import ObjectTokenPolicy
from pytest_vla.suites.vima.policy.objects import OBJECT, SCENE_OBJECT, WORD, find_objects, read_prompt

from pytest_vla.policies.checkpoint import load_checkpoint, save_checkpoint
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout, surroundings
from pytest_vla.train.demonstration import Demonstration, Take

pytest.importorskip("pybullet")
CONDITIONINGS: list[Literal["cross", "prefix"]] = ["cross", "prefix"]


def record(task: str, index: int = 0) -> Demonstration:
    suite = get_suite("vima")
    env, take = suite.make_env(task), Take(("top",))
    token = surroundings.set(type(surroundings.get())(on_step=take.add))
    try:
        return take.demonstration(rollout(suite.oracle(env), env, suite.episode(task, "train", index)))
    finally:
        surroundings.reset(token)
        env.close()


@pytest.fixture(scope="module")
def demonstrations() -> list[Demonstration]:
    return [
        record(task, index) for task in ("rotate", "scene_understanding", "rearrange_then_restore") for index in (0, 1)
    ]


def make(conditioning: Literal["cross", "prefix"]) -> ObjectTokenPolicy:
    torch.manual_seed(0)
    return ObjectTokenPolicy(conditioning, width=32, layers=2, prompt_layers=1)


def test_an_object_is_cut_out_and_placed_on_the_table() -> None:
    rgb, segmentation = np.full((128, 256, 3), 90, np.uint8), np.ones((128, 256), np.uint8)
    rgb[40:48, 150:166], segmentation[40:48, 150:166] = (250, 0, 10), 7
    found = find_objects(rgb, segmentation)
    assert found.ids == (7,)
    crop = found.crops[0]
    assert crop.shape == (4, 32, 32)
    assert crop[:, 16, 16].tolist() == [250, 0, 10, 255]
    assert crop[:, 2, 16].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(found.boxes[0], [0.5 - 20 / 250.98, 30 / 250.98, 8 / 250.98, 16 / 250.98], atol=1e-5)


def test_things_on_the_suites_table_are_found_where_they_stand(suite: Any, env: Any) -> None:
    seen, _ = env.reset(options={"episode": suite.episode("visual_manipulation", "train", 0)})
    found = find_objects(seen["images"][CAMERA], seen["segmentation"][CAMERA])
    places = dict(zip(found.ids, found.boxes[:, :2].tolist(), strict=True))
    table = env.table.state()
    assert set(places) == set(env.ids.values())
    for label, number in env.ids.items():
        assert np.hypot(*np.subtract(places[number], table[label].position[:2])) < 0.02


def test_a_prompt_is_read_in_order(demonstrations: list[Demonstration]) -> None:
    tokens = read_prompt(next(d for d in demonstrations if d.task == "scene_understanding").prompt)
    assert list(dict.fromkeys(tokens.kind.tolist())) == [WORD, SCENE_OBJECT]
    assert sorted(tokens.place.tolist()) == tokens.place.tolist()
    assert len(tokens.crops) == 2
    rotated = read_prompt(next(d for d in demonstrations if d.task == "rotate").prompt)
    assert rotated.kind.tolist() == [WORD, WORD, OBJECT, WORD, WORD]


@pytest.mark.parametrize("text", ["", "{gone} ...", "Put it!"])
def test_an_odd_prompt_is_still_something(text: str) -> None:
    tokens = read_prompt({"text": text, "assets": {}})
    assert len(tokens.kind) >= 1


def test_an_empty_table_still_gets_an_action(demonstrations: list[Demonstration]) -> None:
    policy, shown = make("cross").eval(), demonstrations[0]
    seen = {
        "images": {"top": shown.images["top"][0]},
        "segmentation": {"top": np.full_like(shown.segmentation["top"][0], 255)},
        "state": {"ee": shown.state["ee"][0]},
        "prompt": shown.prompt,
    }
    (action,) = policy.act([seen], [policy.reset(None)])
    assert np.isfinite(action["pose0_position"]).all()


@pytest.mark.parametrize("conditioning", CONDITIONINGS)
def test_rows_of_a_batch_do_not_mix(conditioning: Any, demonstrations: list[Demonstration]) -> None:
    policy = make(conditioning).eval()
    examples = [example for d in demonstrations for example in policy.examples(d)]
    with torch.no_grad():
        together, turns = policy.decide(policy.collate(examples))
        alone = [policy.decide(policy.collate([example])) for example in examples]
    torch.testing.assert_close(together, torch.cat([move for move, _ in alone]), atol=1e-4, rtol=0)
    assert torch.equal(turns, torch.cat([turn for _, turn in alone]))


@pytest.mark.parametrize("conditioning", CONDITIONINGS)
def test_it_can_learn_what_it_is_shown(conditioning: Any, demonstrations: list[Demonstration]) -> None:
    policy = make(conditioning)
    batch = policy.collate([example for d in demonstrations for example in policy.examples(d)])
    optimizer = torch.optim.AdamW(policy.parameters(), 2e-3)
    for _ in range(80):
        loss, _ = policy.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    policy.eval()
    with torch.no_grad():
        moves, _ = policy.decide(batch)
    apart = (moves - batch["move"]).reshape(-1, 2, 2).norm(dim=-1)
    assert (apart[:, 0] < 0.03).float().mean() > 0.7


def test_the_prompt_matters(demonstrations: list[Demonstration]) -> None:
    policy = make("cross").eval()
    examples = policy.examples(next(d for d in demonstrations if d.task == "rotate"))
    other = policy.examples(next(d for d in demonstrations if d.task == "scene_understanding"))
    told = {name: value for name, value in other[0].items() if name.startswith("prompt_")}
    with torch.no_grad():
        one, _ = policy.decide(policy.collate(examples[:1]))
        two, _ = policy.decide(policy.collate([{**examples[0], **told}]))
    assert not torch.allclose(one, two)


def test_both_forms_have_the_same_size() -> None:
    sizes = [
        sum(weight.numel() for weight in ObjectTokenPolicy(**config).parameters())
        for config in ({"conditioning": "cross", "layers": 3}, {"conditioning": "prefix", "layers": 6})
    ]
    assert max(sizes) / min(sizes) < 1.02


def test_a_checkpoint_acts_as_the_policy_did(tmp_path: Any) -> None:
    suite = get_suite("vima")
    policy = make("cross").eval()
    save_checkpoint(tmp_path / "policy.pt", policy, {"width": 32, "layers": 2, "prompt_layers": 1})
    loaded = load_checkpoint(tmp_path / "policy.pt")
    env = suite.make_env("rearrange")
    key = suite.episode("rearrange", "novel_object_generalization", 3)
    results = [rollout(each, env, key) for each in (policy, loaded)]
    env.close()
    assert results[0].digest == results[1].digest
    assert results[0].outcome in ("solved", "unsolved")
