"""The benchmark's formulas: its golden numbers, and what must hold of any answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytest_vla.suites.multinet import metrics
from pytest_vla.suites.multinet.judge import INVALID, judge_actions, judge_classes

SQUARES = np.arange(1, 101, dtype=float) ** 2
MIXED = np.array([0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.9, 1, 2, 3])
classes = st.integers(2, 6).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(-2, count + 1), st.integers(0, count - 1)), min_size=1, max_size=60),
    )
)


@pytest.mark.parametrize(
    ("errors", "normalized", "shipped", "documented", "relative", "beyond"),
    [
        (SQUARES, 0.338284, 0.341584, 0.354785, 3.920800, 0.13),
        (MIXED, 0.262069, 0.270833, 0.270833, 6.666667, 0.2),
    ],
)
def test_errors_are_summed_up_as_published(errors, normalized, shipped, documented, relative, beyond):
    assert metrics.normalized(errors) == pytest.approx(normalized, abs=1e-6)
    kept = metrics.within_quantiles(errors, metrics.AS_SHIPPED_PCT)
    assert metrics.normalized(kept) == pytest.approx(shipped, abs=1e-6)
    kept = metrics.within_quantiles(errors, metrics.AS_DOCUMENTED_PCT)
    assert metrics.normalized(kept) == pytest.approx(documented, abs=1e-6)
    assert metrics.max_relative(errors) == pytest.approx(relative, abs=1e-6)
    assert metrics.beyond_threshold(errors) == pytest.approx(beyond)


def test_classes_are_counted_as_published():
    numbers = metrics.classes(np.array([0, 1, 1, 2, -1, 5, 0]), np.array([0, 1, 2, 2, 1, 0, 1]), 3)
    expected = {
        "exact_match": 0.428571,
        "exact_match_valid_only": 0.6,
        "micro_precision": 0.428571,
        "micro_precision_without_invalid": 0.6,
        "micro_recall": 0.428571,
        "micro_f1_without_invalid": 0.5,
        "macro_precision": 0.666667,
        "macro_recall": 0.444444,
        "macro_f1": 0.522222,
        "invalid_percentage": 28.571429,
    }
    assert {name: numbers[name] for name in expected} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("confusion", "expected"),
    [
        ([[20, 1, 2], [6, 0, 2]], (0.384615, 0.434783, 0.408163, 0.645161, 0.740741)),
        ([[12, 0, 24, 0], [58, 289, 51, 0], [1, 0, 36, 0]], (0.497779, 0.677479, 0.517375, 0.715499, 0.715499)),
        ([[4, 0, 0, 32], [350, 0, 0, 48], [36, 0, 0, 1]], (0.003419, 0.037037, 0.006260, 0.008493, 0.010256)),
    ],
)
def test_published_confusions_give_the_published_scores(confusion, expected):
    """Rows are labels, columns are answers, the last one those that could not be read."""
    count = len(confusion)
    pairs = [
        (k if k < count else -1, label)
        for label, row in enumerate(confusion)
        for k, n in enumerate(row)
        for _ in range(n)
    ]
    numbers = metrics.classes(np.array([p for p, _ in pairs]), np.array([y for _, y in pairs]), count)
    names = ("macro_precision", "macro_recall", "macro_f1", "exact_match", "exact_match_valid_only")
    assert [numbers[name] for name in names] == pytest.approx(expected, abs=1e-6)


def test_brier_sums_over_classes():
    squared, absolute = metrics.brier(np.array([[0.7, 0.2, 0.1], [np.nan] * 3]), np.array([1, 0]))
    assert absolute.tolist() == pytest.approx([1.6, 2.0])
    assert squared.tolist() == pytest.approx([1.14, 2.0])
    uniform = metrics.brier(np.full((1, 36), 1 / 36), np.array([28]))
    assert [float(part[0]) for part in uniform] == pytest.approx([0.972222, 1.944444], abs=1e-6)


def test_an_action_that_cannot_be_read_costs_the_range_of_the_labels():
    labels = np.array([[0.0, 0.0], [1.0, 2.0]])
    squared, absolute = metrics.action_errors(np.array([[np.nan, np.nan], [1.0, 2.0]]), labels)
    assert absolute.tolist() == [1.5, 0.0]
    assert squared.tolist() == [2.5, 0.0]


@given(classes)
def test_with_one_label_a_sample_micro_scores_are_the_exact_match(drawn):
    count, pairs = drawn
    predicted, labels = (np.array(column) for column in zip(*pairs, strict=True))
    numbers = metrics.classes(predicted, labels, count)
    for name in ("micro_precision", "micro_recall", "micro_f1"):
        assert numbers[name] == pytest.approx(numbers["exact_match"])
    assert 0 <= numbers["macro_f1"] <= 1
    assert numbers["exact_match"] <= numbers["exact_match_valid_only"] + 1e-12
    assert sum(numbers["choice_distribution"].values()) == numbers["valid_predictions"]


@given(classes, st.randoms())
def test_the_order_of_samples_does_not_matter(drawn, random):
    count, pairs = drawn
    shuffled = random.sample(pairs, len(pairs))
    first, second = (
        metrics.classes(*(np.array(column) for column in zip(*some, strict=True)), count) for some in (pairs, shuffled)
    )
    assert first == second


@given(arrays(np.float64, (20, 3), elements=st.floats(-5, 5).map(lambda x: round(x, 3))))
def test_the_constant_mean_is_exactly_as_good_as_itself(labels):
    constant = np.repeat(labels.mean(axis=0)[None], len(labels), axis=0)
    numbers = metrics.continuous(constant, labels)
    spread = np.ptp(labels, axis=0).max()
    if spread > 0.01:
        assert numbers["approximate_baseline_relative_mae"] == pytest.approx(1.0)


@given(classes)
def test_judging_an_array_is_judging_its_samples(drawn):
    count, pairs = drawn
    predicted, labels = (np.array(column) for column in zip(*pairs, strict=True))
    outcomes, numbers = judge_classes(predicted, labels, count)
    assert (outcomes == 1).mean() == pytest.approx(numbers["exact_match"])
    assert (outcomes == INVALID).sum() == numbers["total_invalid_preds"]


def test_actions_are_judged_by_the_constant_mean():
    labels = np.array([[0.0], [2.0], [4.0]])
    outcomes, numbers = judge_actions(np.array([[0.5], [np.nan], [9.0]]), labels)
    assert outcomes.tolist() == [1, INVALID, 0]
    assert numbers["total_invalid_preds"] == 1


def test_conversations_are_counted_turn_by_turn():
    wanted = [[["a()"], ["b(x=1)", "c()"]], [["d()"], []]]
    given_calls = [[["a()"], ["b(x=1)"]], [[], []]]
    numbers = metrics.conversations(given_calls, wanted)
    assert numbers["exact_match_accuracy"] == 0
    assert numbers["turn_level_accuracy"] == {"turn_1_accuracy": 0.5, "turn_2_accuracy": 0.5}
    assert numbers["turn_level_recalls_until_failure"]["turn_2_recall_until_failure"] == 0.75
    assert numbers["avg_turn_of_first_failure"] == 1.5
    assert (numbers["total_invalid_turns"], numbers["total_invalid_conversations"]) == (1, 1)
