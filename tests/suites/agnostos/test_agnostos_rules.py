"""Where strict rules ask for more than the original's, and what a task shows and says of itself."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("mujoco")

from pytest_vla.suites.agnostos.benchmark import AgnostosSuite, Rules

from pytest_vla.sim.pose import at


def suite_of(rules: Rules) -> AgnostosSuite:
    return AgnostosSuite("agnostos_floating", mode="floating", rules=rules, image_px=32)


@pytest.fixture(scope="module", params=["faithful", "strict"])
def judged(request: pytest.FixtureRequest) -> Iterator[tuple[bool, AgnostosSuite, Any]]:
    suite = suite_of(request.param)
    env = suite.make_env("lamp_on")
    yield request.param == "strict", suite, env
    env.close()


def reset(suite: AgnostosSuite, env: Any, task: str, partition: str = "", index: int = 0) -> Any:
    episode = suite.episode(task, partition or suite.templates[task].split, index)
    return env.reset(options={"episode": episode})[0]


def solve(suite: AgnostosSuite, env: Any, task: str) -> bool:
    observation, oracle = reset(suite, env, task), suite.oracle(env)
    state, over, info = oracle.reset(env.episode), False, {}
    while not over:
        observation, _, over, _, info = env.step(oracle.act([observation], [state])[0])
    return bool(info["success"])


def waits(suite: AgnostosSuite, env: Any) -> bool:
    """Whether it is solved when the hand stays where it is."""
    return bool(env.step(suite.noop(env))[4]["success"])


def test_a_stick_that_was_only_knocked_out_counts_in_the_original(judged):
    strict, suite, env = judged
    reset(suite, env, "take_usb_out_of_computer")
    assert not waits(suite, env)
    env.table.put("usb", at(0.0, 0.4, 0.05))
    assert waits(suite, env) is not strict


def test_a_ball_that_never_fell_through_the_hoop_counts_in_the_original(judged):
    strict, suite, env = judged
    reset(suite, env, "basketball_in_hoop")
    hoop = env.table.look().pose("hoop")
    env.table.put("ball", hoop @ at(z=0.035))
    assert waits(suite, env) is not strict


def test_a_handset_across_the_phone_counts_in_the_original(judged):
    strict, suite, env = judged
    reset(suite, env, "phone_on_base")
    base = env.table.look().pose("base")
    env.table.put("handset", base @ at(0.04, 0.10, 0.10))
    assert waits(suite, env) is not strict


@pytest.mark.parametrize(("task", "dark"), [("lamp_off", True), ("lamp_on", False)])
def test_a_lamp_shows_that_its_button_was_pressed(judged, task, dark):
    _, suite, env = judged
    assert solve(suite, env, task)
    _, _, z = env.table.look().pose("light").position
    assert (z > 2) is dark


def test_the_wrong_books_do_not_count(judged):
    _, suite, env = judged
    reset(suite, env, "put_books_on_bookshelf", "variation_1")
    assert env.instance.instruction == "put 2 books on bookshelf"
    shelf = env.table.look().pose("bookshelf")
    for number, y in ((0, -0.1), (1, 0.1)):
        env.table.put(f"book_{number}", shelf @ at(0, y, 0.241))
    assert not waits(suite, env)
    env.table.put("book_2", shelf @ at(0, 0, 0.241))
    assert waits(suite, env)


@pytest.mark.parametrize(("number", "colour"), [*enumerate(["black", "red", "purple"])])
def test_the_plate_stands_between_pillars_of_the_colour_that_is_said(judged, number, colour):
    _, suite, env = judged
    reset(suite, env, "take_plate_off_colored_dish_rack", "variations", number)
    assert env.instance.instruction == f"take plate off the {colour} colored rack"
    table = env.table.look()
    x, _, _ = (table.pose("rack").inverse() @ table.pose("plate")).position
    assert x == pytest.approx((number - 1) * 0.10, abs=0.01)
