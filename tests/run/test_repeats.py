"""The flip rate of episodes that were run twice."""

from made_up_runs import episode

from pytest_vla.run import Table
from pytest_vla.run.repeats import FlipRate, flip_rate


def test_where_every_repeat_was_an_error_nothing_was_measured():
    table = Table.of([episode(0, "error", "timeout", repeat=repeat) for repeat in (0, 1)])
    assert flip_rate(table) == FlipRate(0, 0, 0)


def test_flips_are_of_episodes_that_were_measured_more_than_once():
    records = [
        *(episode(0, repeat=repeat) for repeat in (0, 1)),
        *(
            episode(1, *outcome, repeat=repeat)
            for repeat, outcome in enumerate([("solved",), ("unsolved", "step_limit")])
        ),
        episode(2),
    ]
    found = flip_rate(Table.of(records))
    assert found == FlipRate(2, 1, 0)
    assert flip_rate(Table.of([episode(0)])) is None
