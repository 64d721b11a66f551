"""What the in-context policy says to a model and reads out of its answers: codes, prompt, parsing, retrieval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from suites.agnostos.policy.grid import HOME, cell_of, decoded, encoded
from suites.agnostos.policy.retrieval import Demo, at_random, by_cosine, by_dot_product, spread
from suites.agnostos.policy.text import MOST_ACTIONS, Example, Situation, messages, parsed

DOWN = (0.0, 1.0, 0.0, 0.0)


@given(
    st.tuples(st.floats(-0.27, 0.69), st.floats(-0.49, 0.49), st.floats(0.76, 1.59)),
    st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1),
    st.booleans(),
)
def test_a_code_is_near_what_it_stands_for(place: tuple[float, ...], turn: tuple[float, ...], is_open: bool) -> None:
    rotation = np.array(turn) / np.linalg.norm(turn)
    action = decoded(encoded([*place, *rotation, is_open]))
    assert np.linalg.norm(action[:3] - place) <= 0.0088
    # Three angles are off by half a bin each at most; where they hang together they may add up.
    assert np.degrees((Rotation.from_quat(action[3:7]) * Rotation.from_quat(rotation).inv()).magnitude()) <= 7.6
    assert action[7] == is_open
    assert encoded(action) == encoded(decoded(encoded(action)))


@pytest.mark.parametrize(
    ("rotation", "bins"), [(DOWN, (0, 36, 0)), ((1.0, 0.0, 0.0, 0.0), (0, 36, 36)), ((0.0, -1.0, 0.0, 0.0), (0, 36, 0))]
)
def test_a_hand_that_points_down_has_the_published_code(rotation: tuple[float, ...], bins: tuple[int, ...]) -> None:
    assert encoded([0.275, -0.005, 1.475, *rotation, 1.0]) == (57, 49, 87, *bins, 1)


def test_home_is_the_published_place() -> None:
    home = decoded(HOME)
    assert home[:3] == pytest.approx([0.275, -0.005, 1.475])
    assert home[7:].tolist() == [1, 1]
    turned = Rotation.from_quat(home[3:7]) * Rotation.from_euler("xyz", [-180, 15, -180], degrees=True).inv()
    assert np.degrees(turned.magnitude()) < 1e-3


def test_the_last_cell_holds_all_that_is_farther_and_the_first_does_not() -> None:
    assert cell_of([9.0, 0.0, 0.6]) == (99, 50, 0)
    assert cell_of([-0.311, 0.0, 0.6]) == (-2, 50, 0)


def test_the_prompt_has_the_examples_in_their_order_and_the_query_last() -> None:
    near = Example(Situation("open the drawer", {"drawer": (1, 2, 3)}), [(1, 2, 3, 4, 5, 6, 1), (1, 2, 9, 4, 5, 6, 0)])
    far = Example(Situation("close it", {}), [HOME])
    system, user = messages([near, far], Situation("open the grill", {"grill": (7, 8, 9), "lid": (7, 8, 20)}))
    assert system["role"] == "system"
    assert user["content"] == (
        "['instruction': open the drawer, {'drawer': [1, 2, 3]}]>[[1, 2, 3, 4, 5, 6, 1], [1, 2, 9, 4, 5, 6, 0]], "
        "['instruction': close it, {}]>[[57, 49, 87, 0, 39, 0, 1]], "
        "['instruction': open the grill, {'grill': [7, 8, 9], 'lid': [7, 8, 20]}]>"
    )


A, B = (1, 2, 3, 4, 5, 6, 1), (7, 8, 9, 10, 11, 12, 0)


@pytest.mark.parametrize(
    ("answer", "strict", "lenient"),
    [
        ("[[1,2,3,4,5,6,1],[7,8,9,10,11,12,0]]", [A, B], [A, B]),
        ("Sure! [ 1, 2, 3, 4, 5, 6, 1 ] and [7,8,9,10,11,12,0].", [A, B], [A, B]),
        ("[[1,2,3,4,5,6,1],[7,8,9,10", [A], [A]),  # cut: the last group is not whole
        ("[[1,2,3],[7,8,9,10,11,12,0]]", [B], [B]),  # too short to be an action
        ("[[1,2,3,4,5,6,1],[7,8,9.2,10,11,12,0]]", [HOME] * MOST_ACTIONS, [A, B]),
        ("[[1,2,3,4,5,6,1],[x1,8,9,10,11,12,0]]", [HOME] * MOST_ACTIONS, [A]),
        ("[[1,2,3,4,5,6,1],[nan,1,9,10,11,12,0]]", [HOME] * MOST_ACTIONS, [A]),
        (f"[[1,2,3,4,5,6,1],[{'9' * 5000},8,9,10,11,12,0]]", [HOME] * MOST_ACTIONS, [A]),
        ("I cannot do that.", [HOME], [HOME]),
        ("[]", [HOME], [HOME]),
        ("", [HOME], [HOME]),
        (str([list(A)] * 100), [A] * MOST_ACTIONS, [A] * MOST_ACTIONS),
    ],
)
def test_answers_are_read_by_both_rules(answer: str, strict: list[object], lenient: list[object]) -> None:
    assert parsed(answer, "strict").actions == strict
    assert parsed(answer, "lenient").actions == lenient


def test_what_is_wrong_with_an_answer_is_said() -> None:
    assert parsed("[[1,2,3,4,5,6,1]]").complaint == ""
    assert parsed("no").complaint == "no action in 'no'"
    assert parsed("[[1,2,a]]").complaint == "not whole numbers: [1,2,a]"


@given(st.text(alphabet="[]0123456789,.-e x\n") | st.text())
def test_no_answer_is_too_strange(answer: str) -> None:
    for parsing in ("strict", "lenient"):
        reply = parsed(answer, parsing)
        assert 1 <= len(reply.actions) <= MOST_ACTIONS
        assert all(np.isfinite(decoded(action)).all() for action in reply.actions)


def _demos(*features: list[float]) -> list[Demo]:
    example = Example(Situation("", {}), [HOME])
    return [Demo("task", number, example, np.array(vector, np.float32)) for number, vector in enumerate(features)]


def test_length_counts_in_a_product_and_not_in_an_angle() -> None:
    pool, query = _demos([1, 0], [3, 3], [0, 1]), np.array([1, 0], np.float32)
    assert [demo.index for demo in by_dot_product(query, pool, 2)] == [1, 0]
    assert [demo.index for demo in by_cosine(query, pool, 2)] == [0, 1]


def test_random_selection_draws_the_same_without_replacement() -> None:
    pool = _demos(*[[float(number)] for number in range(30)])
    once, again = (at_random(np.zeros(1, np.float32), pool, 18) for _ in range(2))
    assert once == again
    assert len({demo.index for demo in once}) == 18
    assert [demo.index for demo in once] != list(range(18))


def test_a_spread_selection_has_few_of_any_one_task() -> None:
    example = Example(Situation("", {}), [HOME])
    near, far = np.array([1, 0], np.float32), np.array([1, 1], np.float32)
    pool = [Demo("near", number, example, near) for number in range(5)]
    pool += [Demo("far", number, example, far) for number in range(2)]
    assert [demo.task for demo in by_cosine(near, pool, 4)] == ["near"] * 4
    assert [demo.task for demo in spread(near, pool, 4)] == ["near"] * 3 + ["far"]
