"""The flip rate of identical episodes."""

from gate_records import records, table

from pytest_vla.run.repeats import FlipRate, flip_rate


def test_a_run_without_repeats_has_no_flip_rate():
    assert flip_rate(table(records("..u"))) is None


def test_flips_are_counted_over_episodes_measured_twice():
    assert flip_rate(table(records("..uE") + records(".u..", repeat=1))) == FlipRate(repeated=3, flipped=2, drifted=0)


def test_the_same_outcome_by_another_way_is_drift():
    assert flip_rate(table(records("..") + records("..", repeat=1, digest="other"))) == FlipRate(2, 0, 2)


def test_the_rate_is_shown_with_its_interval():
    assert "1 of 4 repeated episodes ended differently (25.0%, 95% CI [5, 70])" in str(FlipRate(4, 1, 0))
    assert "no episode was measured twice" in str(FlipRate(0, 0, 0))
