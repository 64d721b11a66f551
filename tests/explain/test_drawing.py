"""The pictures of an explanation: what a person sees is what was found, on any screen."""

import pytest

pytest.importorskip("PIL")

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.explain.drawing import WIDEST_PX, unit_map
from pytest_vla.explain.written import _caption

KEY = EpisodeKey("bomb", "place_stone", "unperturbed", 0)


def units(stacks, layers=2, heads=12):
    return [
        {
            "unit": f"part{stack}.layers.{layer}.attn.{head}",
            "kind": "head",
            "layer": layer,
            "head": head,
            "restored": 0.5,
        }
        for stack in range(stacks)
        for layer in range(layers)
        for head in range(heads)
    ]


def test_a_map_of_many_stacks_goes_on_below():
    one, six = unit_map(units(1), "map"), unit_map(units(6), "map")
    assert one.width < six.width <= WIDEST_PX
    assert six.height > 2 * one.height - 60
    assert unit_map([], "map") is None


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (Result(KEY, "solved", steps=4), "step 4 of 4  ·  solved"),
        (Result(KEY, "unsolved", "step_limit", steps=4), "step 4 of 4  ·  unsolved: step_limit"),
    ],
)
def test_the_last_frame_of_the_film_says_how_it_ended(result, told):
    assert _caption(result, 4, "").facts == told
    assert _caption(result, 3, "").facts == "step 3 of 4  ·  no success yet"
