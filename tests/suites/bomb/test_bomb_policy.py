"""The visuomotor policy for BOMB: how it cuts demonstrations, what it sees, and that it acts and learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_vla.suites.bomb.cameras import FRONT

import pytest_vla as vla

torch = pytest.importorskip("torch")

from pytest_vla.suites.bomb.policy.examples import (  # noqa: E402
    CHUNK,
    PICK,
    PIXEL_M,
    RELEASE,
    REST,
    halves,
    picture_of,
    seen_from_above,
    tokens_of,
)
from pytest_vla.suites.bomb.policy.visuomotor import CELL_M, Memory, Visuomotor, peak, spread  # noqa: E402

from pytest_vla.policies.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from pytest_vla.train.demonstration import Demonstration  # noqa: E402

OPEN, CLOSED = 1.0, 0.0
INSTRUCTION = "place the black stone at position (3,4)"


def half(x: float, y: float, before: float, after: float, travel: int) -> list[tuple[float, ...]]:
    """Go there, down, close or open, and up."""
    down = [(x, y, 0.001, before)] * 2 + [(x, y, 0.001, after)] * 2
    return [(x, y, 0.045, before)] * travel + down + [(x, y, 0.045, after)] * 2


def demonstration(stone: tuple[float, float], target: tuple[float, float], rest: int = 4) -> Demonstration:
    """One move and a rest, seen in noise."""
    steps = half(*stone, OPEN, CLOSED, 5) + half(*target, CLOSED, OPEN, 3) + [(0.0, 0.12, 0.1, OPEN)] * rest
    action = np.array(steps, np.float32)
    images = np.random.default_rng(0).integers(0, 256, (len(action), 256, 256, 3), np.uint8)
    ee = np.concatenate([[[0.0, 0.12, 0.1, 1.0]], action[:-1]]).astype(np.float32)
    names = tuple(f"action.{i}" for i in range(4))
    return Demonstration(
        "bomb", "place_stone", "unperturbed", 0, INSTRUCTION, {"front": images}, {}, {"ee": ee}, action, names
    )


def observation(seed: int, instruction: str = INSTRUCTION, gripper: float = 1.0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    ee = np.array([*rng.uniform(-0.1, 0.1, 2), 0.045, gripper], np.float32)
    image = rng.integers(0, 256, (256, 256, 3), np.uint8)
    return {"images": {"front": image}, "state": {"ee": ee}, "instruction": instruction}


@pytest.fixture
def policy() -> Visuomotor:
    torch.manual_seed(0)
    return Visuomotor().eval()


def test_a_demonstration_is_cut_where_the_hand_is_up_again() -> None:
    action = demonstration((-0.15, 0.01), (0.08, -0.04)).action
    cut = halves(action)
    assert [(part.start, part.stop, part.kind) for part in cut] == [(0, 11, PICK), (11, 20, RELEASE), (20, 24, REST)]
    np.testing.assert_allclose(np.stack([part.spot for part in cut]), [(-0.15, 0.01), (0.08, -0.04), (0.0, 0.12)])


def test_examples_know_in_hindsight_where_the_move_ends_and_how_many_came_before() -> None:
    pick, release, rest = Visuomotor.examples(demonstration((-0.15, 0.01), (0.08, -0.04)))
    np.testing.assert_allclose(pick["spot"], (-0.15, 0.01))
    np.testing.assert_allclose(pick["release"], (0.08, -0.04))
    np.testing.assert_allclose(release["spot"], (0.08, -0.04))
    assert [int(example["moves"]) for example in (pick, release, rest)] == [0, 0, 1]
    assert {name: array.shape for name, array in pick.items()} == {name: array.shape for name, array in rest.items()}


def test_the_chunk_of_an_example_is_its_half_move_with_the_last_action_held() -> None:
    shown = demonstration((-0.15, 0.01), (0.08, -0.04))
    release = Visuomotor.examples(shown)[1]
    np.testing.assert_array_equal(release["chunk"][:9], shown.action[11:20])
    np.testing.assert_array_equal(release["chunk"][9:], np.tile(shown.action[19], (CHUNK - 9, 1)))


def test_a_long_rest_is_looked_at_twice_so_that_home_with_all_done_is_known() -> None:
    shown = demonstration((-0.15, 0.01), (0.08, -0.04), rest=5 * CHUNK)
    *_, first, again = Visuomotor.examples(shown)
    assert [int(example["kind"]) for example in Visuomotor.examples(shown)] == [PICK, RELEASE, REST, REST]
    np.testing.assert_allclose(again["ee"], (0.0, 0.12, 0.1, OPEN))
    assert int(first["moves"]) == int(again["moves"]) == 1


def test_a_dot_on_the_table_is_seen_from_above_where_it_lies() -> None:
    x, y = 0.12, -0.08
    away = np.array([x, y, 0.0]) - FRONT.position
    focal = 128 / np.tan(np.radians(FRONT.fovy_deg) / 2) / (away @ FRONT.forward)
    column, row = round(127.5 + focal * (away @ FRONT.right)), round(127.5 - focal * (away @ FRONT.up))
    image = np.zeros((256, 256, 3), np.uint8)
    image[row - 1 : row + 2, column - 1 : column + 2] = 255
    rows, columns = np.nonzero(seen_from_above(image)[..., 0] > 128)
    assert abs((columns.mean() + 0.5 - 80) * PIXEL_M - x) < 0.002
    assert abs((56 - rows.mean() - 0.5) * PIXEL_M - y) < 0.002


def test_the_peak_of_a_spread_spot_is_the_spot() -> None:
    spots = torch.rand(50, 2) * torch.tensor([0.36, 0.24]) - torch.tensor([0.18, 0.12])
    torch.testing.assert_close(peak(spread(spots).log()), spots, atol=1e-5, rtol=0)


def test_of_two_peaks_the_higher_is_taken_and_not_their_middle() -> None:
    two = torch.tensor([[-0.1, 0.0], [0.1, 0.0]])
    maps = 0.4 * spread(two[:1]) + 0.6 * spread(two[1:])
    assert (peak(maps.log()) - two[1]).abs().max() < CELL_M / 100


def test_acting_on_a_batch_is_acting_one_by_one(policy: Visuomotor) -> None:
    seen = [observation(seed) for seed in range(5)]
    together = policy.act(seen, [Memory() for _ in seen])
    alone = [policy.act([one], [Memory()])[0] for one in seen]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert not np.allclose(alone[0], alone[1])


@pytest.mark.parametrize("instruction", ["", "place", "\N{WHITE CIRCLE} (9,9) Ünïcode\n", "stone " * 5000])
def test_odd_instructions_are_acted_on(policy: Visuomotor, instruction: str) -> None:
    (chunk,) = policy.act([observation(0, instruction)], [Memory()])
    assert chunk.shape == (CHUNK, 4)
    assert np.isfinite(chunk).all()


def test_words_differ_and_capitals_do_not() -> None:
    words = "place remove make the a black white stone at to nearest position then board match picture ( , ) 0 1 2 3 4"
    assert len(set(tokens_of(words))) == len(words.split()) + 1  # all apart, and the padding
    np.testing.assert_array_equal(tokens_of("Place THE stone"), tokens_of("place the stone"))


def test_only_a_stone_that_was_held_counts_as_a_move(policy: Visuomotor) -> None:
    memory = Memory()
    for gripper, moves in ((1.0, 0), (0.6, 0), (1.0, 1), (0.0, 1), (1.0, 1)):  # the second grasp is empty
        policy.act([observation(0, gripper=gripper)], [memory])
        assert memory.moves == moves


def test_the_picture_of_a_prompt_reaches_the_network(policy: Visuomotor) -> None:
    assert not picture_of({"text": "make the board match the picture"}).any()
    with torch.no_grad():
        policy.kind.bias[RELEASE] += 100
    picture = np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8)
    plain, prompted = policy.act(
        [observation(0), observation(0) | {"prompt": {"text": "", "images": {"picture": picture}}}],
        [Memory(), Memory()],
    )
    assert not np.allclose(plain, prompted)


def test_the_loss_of_a_few_examples_falls(policy: Visuomotor) -> None:
    shown = [demonstration((-0.15, 0.01), (0.08, -0.04)), demonstration((0.16, -0.02), (0.0, 0.04))]
    examples = [example for one in shown for example in Visuomotor.examples(one)]
    batch = {name: torch.as_tensor(np.stack([example[name] for example in examples])) for name in examples[0]}
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    losses = []
    for _ in range(40):
        loss, metrics = policy.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3
    assert metrics["kind_right"] == 1.0


def test_a_checkpoint_gives_the_same_policy(policy: Visuomotor, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "policy.pt", policy, {})
    loaded = load_checkpoint(tmp_path / "policy.pt")
    assert loaded.spec == Visuomotor.spec
    assert loaded.spec.mismatch(vla.get_suite("bomb")) is None
    np.testing.assert_array_equal(loaded.act([observation(1)], [Memory()]), policy.act([observation(1)], [Memory()]))
