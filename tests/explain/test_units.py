"""Activations of other people's models are patched by hooks: Hugging Face's LLaMA here, LeRobot's beside LeRobot."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pytest_vla as vla  # noqa: E402
from pytest_vla.inference.units import UnitError, find_units, restore_each, torch_modules  # noqa: E402


def test_restoring_a_head_of_torchs_own_attention_changes_what_that_head_gives_and_nothing_else():
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    holder = torch.nn.ModuleDict({"attention": attention})
    clean, corrupted = torch.randn(1, 5, 16), torch.randn(1, 5, 16)
    with torch.no_grad():
        wanted = attention(clean, clean, clean)[0]

        def score(x):
            return -float((attention(x, x, x)[0] - wanted).norm())

        made = restore_each([holder], find_units([holder]), lambda: score(clean), lambda: score(corrupted))
        both = [unit["restored"] for unit in made["units"]]
        assert len(both) == 4
        assert all(0 < value < 1 for value in both)
        assert not attention._forward_hooks


def test_a_unit_of_another_shape_is_left_out_not_guessed():
    layer = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(2, 2))])
    one, other = torch.randn(3, 2), torch.randn(4, 2)
    with torch.no_grad():
        made = restore_each(
            [layer], find_units([layer]), lambda: float(layer[0](one).sum()), lambda: float(layer[0](other).sum())
        )
    assert (made["units"], made["skipped"]) == ([], 1)


def test_nothing_to_patch_is_one_message():
    with pytest.raises(UnitError, match="--units GLOB"):
        find_units([torch.nn.Linear(2, 2)])
    with pytest.raises(UnitError, match="no module of the policy is named by zzz"):
        find_units([torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2)})], ("zzz",))


class Llama(vla.Policy):
    """Three action tokens by a LLaMA of random weights; the log-likelihood of the clean ones is theirs, forced."""

    masks_text = True
    tokens = 3

    def __init__(self):
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=128,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
        self.model = LlamaForCausalLM(config).eval()

    def act(self, observations, states):
        return [self._greedy(*self._read(each)) for each in observations]

    def log_prob(self, observations, states, actions):
        return [self._forced(*self._read(each), action) for each, action in zip(observations, actions, strict=True)]

    def _read(self, observation):
        words = observation["instruction"].split()
        hidden, start, shown = observation.get("instruction_mask", ()), 0, []
        for word in words:
            start = observation["instruction"].index(word, start)
            shown.append(not any(a < start + len(word) and start < b for a, b in hidden))
            start += len(word)
        return torch.tensor([[1, *(2 + sum(map(ord, word)) % 100 for word in words)]]), torch.tensor([[1, *shown]])

    def _greedy(self, ids, mask):
        for _ in range(self.tokens):
            best = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[0, -1].argmax()
            ids = torch.cat([ids, best.view(1, 1)], 1)
            mask = torch.cat([mask, torch.ones(1, 1, dtype=mask.dtype)], 1)
        return ids[0, -self.tokens :].numpy().astype(np.float32)

    def _forced(self, ids, mask, action):
        told = torch.as_tensor(np.asarray(action)).long()[None]
        more = torch.cat([ids, told], 1)
        mask = torch.cat([mask, torch.ones_like(told)], 1)
        logits = self.model(input_ids=more, attention_mask=mask, use_cache=False).logits[0, ids.shape[1] - 1 : -1]
        return float(logits.log_softmax(-1).gather(1, told[0][:, None]).sum())


def test_words_and_heads_of_a_llama_are_explained():
    pytest.importorskip("transformers")
    from benchmarks.explain import looked

    made = looked(Llama(), 2, units=())
    assert made.masked
    assert made.above("spans")
    assert not made.above("patches front")
    kinds = [unit["kind"] for unit in made.units["units"]]
    assert kinds.count("layer") == 2
    assert kinds.count("head") == 8
    assert kinds.count("mlp") == 2
    last = next(unit for unit in made.units["units"] if unit["unit"] == "model.layers.1")
    assert last["restored"] == pytest.approx(1.0, abs=1e-3)


def test_a_network_that_is_held_twice_is_one():
    class Holder:
        def __init__(self):
            self.model = torch.nn.Linear(2, 2)

    class Outer:
        def __init__(self):
            self.guest = Holder()
            self.model = self.guest.model

    outer = Outer()
    assert torch_modules(outer) == [outer.model]


def test_the_other_half_of_an_isolated_policy_patches_its_own_modules():
    from pathlib import Path

    from benchmarks.explain_plants import Passing, seen
    from pytest_vla.explain.spans import spans_of
    from pytest_vla.inference import units
    from pytest_vla.isolate.guest import World

    world = World("guest_policy:make", [str(Path(__file__).parent)])
    world.begin(0, {"task": "look"}, [])
    world.fork(0, 1, [])
    clean = seen(3)
    span = next(each for each in spans_of(clean["instruction"], masked=True) if each.text == "block")
    made = world.units(units.__file__, clean, span.apply(clean), 1, [], [0])
    heads = [unit for unit in made["units"] if unit["kind"] == "head"]
    assert max(heads, key=lambda unit: unit["restored"])["unit"] == Passing(3).unit
    assert set(world.states) == {1}


def test_the_other_half_of_an_isolated_policy_shuffles_its_own_weights_and_puts_them_back():
    from pathlib import Path

    from benchmarks.explain_plants import seen
    from pytest_vla.inference import units
    from pytest_vla.isolate.guest import World

    world = World("guest_policy:make", [str(Path(__file__).parent)])
    world.begin(0, {"task": "look"}, [])
    assert world.describe()["parameters"] == sum(each.numel() for each in world.policy.parameters())
    before = world.act([seen(3)], [0], [])[0]
    world.shuffle(units.__file__, 5)
    between = world.act([seen(3)], [0], [])[0]
    world.unshuffle()
    assert not np.array_equal(between, before)
    assert np.array_equal(world.act([seen(3)], [0], [])[0], before)
