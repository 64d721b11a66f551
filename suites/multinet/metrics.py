"""MultiNet's formulas over whole arrays: errors, classes, option values, texts, calls.

Every function takes all samples at once and returns numbers by the names that the benchmark gives them. What cannot be
computed (a spread of equal errors, say) is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = dict[str, Any]

INVALID = -1  # the class of an answer that cannot be read
AS_SHIPPED_PCT = 0.05  # what the published numbers were made with
AS_DOCUMENTED_PCT = 5.0
OUTLIER = 3.0  # times the median
WORST_BRIER = 2.0  # of probabilities that cannot be read
TINY = 1e-6
HIGH_SIMILARITY = 0.8


# --- errors ----------------------------------------------------------------------------------------------------------


def normalized(errors: Floats) -> float:
    """The mean of errors scaled to their own range; it says nothing across models, each of which has its own."""
    if len(errors) < 2 or errors.max() == errors.min():
        return float("nan")
    return float(np.mean((errors - errors.min()) / (errors.max() - errors.min())))


def within_quantiles(errors: Floats, pct: float = AS_SHIPPED_PCT) -> Floats:
    """The errors between two percentiles, both included."""
    if not len(errors):
        return errors
    low, high = np.percentile(errors, [pct, 100 - pct])
    inside: Floats = errors[(errors >= low) & (errors <= high)]
    return inside


def max_relative(errors: Floats) -> float:
    size = np.abs(errors)
    return float(size.max() / (np.median(size) or 1e-10)) if len(size) else float("nan")


def beyond_threshold(errors: Floats) -> float:
    """The share of errors that are more than three medians."""
    return float(np.mean(errors > OUTLIER * np.median(errors))) if len(errors) else float("nan")


def error_numbers(squared: Floats, absolute: Floats, pct: float = AS_SHIPPED_PCT) -> Numbers:
    """What is reported of per-sample errors, whatever they are errors of."""
    count = max(len(squared), 1)
    return {
        "total_dataset_amse": float(squared.sum()),
        "total_dataset_amae": float(absolute.sum()),
        "num_timesteps": len(squared),
        "avg_dataset_amse": float(squared.sum() / count),
        "avg_dataset_amae": float(absolute.sum() / count),
        "normalized_amse": normalized(squared),
        "normalized_amae": normalized(absolute),
        "normalized_quantile_filtered_amae": normalized(within_quantiles(absolute, pct)),
        "max_relative_mae": max_relative(absolute),
        "proportion_beyond_threshold_mae": beyond_threshold(absolute),
    }


# --- continuous actions ----------------------------------------------------------------------------------------------


def action_errors(predicted: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Mean squared and mean absolute error of each sample; a row of NaN, an answer that cannot be read, is penalised.

    The penalty is the mean (squared) range of the labels.
    """
    gaps = predicted - labels
    squared, absolute = np.mean(gaps**2, axis=1), np.mean(np.abs(gaps), axis=1)
    invalid = np.isnan(predicted).any(axis=1)
    span = np.ptp(labels, axis=0) if len(labels) else np.zeros(labels.shape[1:])
    squared[invalid], absolute[invalid] = np.mean(span**2), np.mean(span)
    return squared, absolute


def relative_errors(errors: Floats, baseline: Floats, invalid: NDArray[np.bool_]) -> Floats:
    """Errors by those of the constant mean, sample by sample; of an answer that cannot be read it is infinite."""
    flat = baseline < TINY
    ratios = errors / np.where(flat, 1.0, baseline)
    ratios = np.where(flat, np.where(errors < TINY, 1.0, np.inf), ratios)
    return np.where(invalid, np.inf, ratios)


def continuous(predicted: Floats, labels: Floats, pct: float = AS_SHIPPED_PCT) -> Numbers:
    """All that is reported of continuous actions. The mean that they are compared with is that of these labels."""
    invalid = np.asarray(np.isnan(predicted).any(axis=1))
    squared, absolute = action_errors(predicted, labels)
    centre = labels.mean(axis=0) if len(labels) else labels.sum(axis=0)
    numbers = {
        "action_success_rate": 100 * _mean(np.all(predicted == labels, axis=1)),
        **error_numbers(squared, absolute, pct),
    }
    for name, errors, baseline in (
        ("mae", absolute, np.mean(np.abs(centre - labels), axis=1)),
        ("mse", squared, np.mean((centre - labels) ** 2, axis=1)),
    ):
        relative = relative_errors(errors, baseline, invalid)
        numbers[f"avg_baseline_relative_{name}"] = _mean(relative)
        numbers[f"normalized_baseline_relative_{name}"] = normalized(relative[np.isfinite(relative)])
        numbers[f"approximate_baseline_relative_{name}"] = _ratio(_mean(errors), _mean(baseline))
        numbers[f"constant_mean_{name}"] = _mean(baseline)
    return {**numbers, "total_invalid_preds": int(invalid.sum()), "invalid_percentage": 100 * _mean(invalid)}


# --- classes ---------------------------------------------------------------------------------------------------------


def classes(predicted: Ints, labels: Ints, count: int) -> Numbers:
    """All that is reported of one class out of `count`; whatever is not one of them is invalid."""
    valid = (predicted >= 0) & (predicted < count)
    known = (labels >= 0) & (labels < count)
    right = valid & (predicted == labels)
    hits = _counted(predicted[right], count)
    asked, given = _counted(labels[known], count), _counted(predicted[valid], count)
    precisions, recalls = _ratios(hits, given), _ratios(hits, asked)
    f1s = _ratios(2 * precisions * recalls, precisions + recalls)
    true, invalid = int(right.sum()), int((~valid).sum())
    wrong, missed = int((valid & ~right).sum()), int((known & ~right).sum())
    precision, recall = _ratio(true, true + wrong + invalid), _ratio(true, true + missed)
    of_valid = _ratio(true, true + wrong)
    return {
        "exact_match": _mean(right),
        "exact_match_valid_only": _ratio(true, int(valid.sum())),
        "micro_precision": precision,
        "micro_precision_without_invalid": of_valid,
        "micro_recall": recall,
        "micro_f1": _harmonic(precision, recall),
        "micro_f1_without_invalid": _harmonic(of_valid, recall),
        "macro_precision": float(precisions.mean()),
        "macro_recall": float(recalls.mean()),
        "macro_f1": float(f1s.mean()),
        "class_precisions": precisions.tolist(),
        "class_recalls": recalls.tolist(),
        "class_f1s": f1s.tolist(),
        "total_samples": len(labels),
        "valid_predictions": int(valid.sum()),
        "total_invalid_preds": invalid,
        "invalid_percentage": 100 * _ratio(invalid, len(labels)),
        "num_choices": count,
        "choice_distribution": {f"choice_{i}_count": int(n) for i, n in enumerate(given)},
    }


def clipped(predicted: Ints, given: NDArray[np.bool_], labels: Ints, count: int) -> Numbers:
    """The same with every integer that was `given` moved to the nearest class there is."""
    moved = np.where(given, np.clip(predicted, 0, count - 1), INVALID)
    numbers = classes(moved, labels, count)
    names = ("exact_match", "micro_precision", "micro_recall", "micro_f1")
    return {f"clipped_{name}": numbers[name] for name in names}


# --- probabilities ---------------------------------------------------------------------------------------------------


def brier(probabilities: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Squared and absolute error of each sample's probabilities, summed over classes; a row of NaN is the worst."""
    gaps = probabilities - np.eye(probabilities.shape[1])[labels]
    squared, absolute = np.sum(gaps**2, axis=1), np.sum(np.abs(gaps), axis=1)
    invalid = np.isnan(probabilities).any(axis=1)
    squared[invalid] = absolute[invalid] = WORST_BRIER
    return squared, absolute


def one_hot(predicted: Ints, count: int) -> Floats:
    """Certain probabilities of a class; NaN where there is none."""
    rows = np.full((len(predicted), count), np.nan)
    valid = (predicted >= 0) & (predicted < count)
    rows[valid] = np.eye(count)[predicted[valid]]
    return rows


def most_likely(probabilities: Floats) -> Ints:
    """The class of each row, the first of equals; INVALID where the row is none."""
    invalid = np.isnan(probabilities).any(axis=1)
    return np.where(invalid, INVALID, np.argmax(np.nan_to_num(probabilities), axis=1)).astype(np.int64)


def distribution(probabilities: Floats, labels: Ints, pct: float = AS_SHIPPED_PCT) -> Numbers:
    """All that is reported of one class out of several, told as probabilities."""
    count = probabilities.shape[1]
    numbers = {**error_numbers(*brier(probabilities, labels), pct)}
    return {**numbers, **classes(most_likely(probabilities), labels, count)}


# --- texts -----------------------------------------------------------------------------------------------------------


def texts(right: NDArray[np.bool_], valid: NDArray[np.bool_], similarity: Floats | None = None) -> Numbers:
    """All that is reported of answers in words; similarities are absent where nobody can compute them."""
    total, bad = len(right), int((~valid).sum())
    numbers: Numbers = {
        "exact_match_accuracy": _mean(right & valid),
        "exact_match_valid_only": _ratio(int((right & valid).sum()), total - bad),
        "total_samples": total,
        "total_invalid_preds": bad,
        "invalid_percentage": 100 * _ratio(bad, total),
    }
    return numbers if similarity is None else {**numbers, **similarities(np.where(valid, similarity, 0.0))}


def similarities(scores: Floats) -> Numbers:
    if not len(scores):
        return {}
    return {
        "avg_similarity_score": float(scores.mean()),
        "max_similarity_score": float(scores.max()),
        "min_similarity_score": float(scores.min()),
        "similarity_std": float(scores.std()),
        "high_similarity_percentage": 100 * _mean(scores >= HIGH_SIMILARITY),
        "high_similarity_threshold": HIGH_SIMILARITY,
    }


# --- conversations ---------------------------------------------------------------------------------------------------


def conversations(predicted: Sequence[Sequence[Sequence[str]]], labels: Sequence[Sequence[Sequence[str]]]) -> Numbers:
    """All that is reported of calls by conversation, turn and place; a turn is right where its texts are equal.

    A turn without calls is invalid where some were expected.
    """
    exact, firsts = [], []
    matches: dict[int, list[float]] = {}
    recalls: dict[int, list[float]] = {}
    bad_turns = bad_conversations = turns = 0
    for given, wanted in zip(predicted, labels, strict=True):
        pairs = [(given[k] if k < len(given) else [], wanted[k]) for k in range(len(wanted))]
        exact.append([call for turn in given for call in turn] == [call for turn in wanted for call in turn])
        right = [list(one) == list(other) for one, other in pairs]
        firsts.append(next((k for k, ok in enumerate(right, 1) if not ok), len(wanted) + 1))
        empty = [not one and bool(other) for one, other in pairs]
        turns, bad_turns = turns + len(wanted), bad_turns + sum(empty)
        bad_conversations += any(empty)
        for k, ((one, other), ok) in enumerate(zip(pairs, right, strict=True), 1):
            matches.setdefault(k, []).append(float(ok))
            recalls.setdefault(k, []).append(_prefix(one, other) / len(other) if other else 1.0)
    return {
        "exact_match_accuracy": _mean(np.array(exact)),
        "turn_level_accuracy": {f"turn_{k}_accuracy": float(np.mean(found)) for k, found in matches.items()},
        "turn_level_recalls_until_failure": {
            f"turn_{k}_recall_until_failure": float(np.mean(found)) for k, found in recalls.items()
        },
        "avg_turn_of_first_failure": float(np.mean(firsts)) if firsts else float("nan"),
        "total_invalid_turns": bad_turns,
        "total_invalid_conversations": bad_conversations,
        "invalid_turn_percentage": 100 * _ratio(bad_turns, turns),
        "invalid_conversation_percentage": 100 * _ratio(bad_conversations, len(exact)),
        "total_predicted_functions": _calls(predicted),
        "total_ground_truth_functions": _calls(labels),
        "avg_valid_predicted_functions_per_sample": _ratio(_calls(predicted), len(exact)),
        "avg_ground_truth_functions_per_sample": _ratio(_calls(labels), len(exact)),
        "total_samples": len(exact),
    }


def _calls(conversations: Sequence[Sequence[Sequence[str]]]) -> int:
    return sum(len(turn) for turns in conversations for turn in turns)


def _prefix(given: Sequence[str], wanted: Sequence[str]) -> int:
    """How many calls are right before the first that is not."""
    return next(
        (n for n, (a, b) in enumerate(zip(given, wanted, strict=False)) if a != b), min(len(given), len(wanted))
    )


# --- arithmetic ------------------------------------------------------------------------------------------------------


def _counted(values: Ints, count: int) -> Floats:
    return np.bincount(values, minlength=count).astype(np.float64)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _ratios(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _harmonic(a: float, b: float) -> float:
    return _ratio(2 * a * b, a + b)


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


#: The same number by the names that other files of the benchmark have for it.
ALSO: Mapping[str, tuple[str, ...]] = {
    "exact_match": (
        "overall_accuracy",
        "accuracy",
        "joint_accuracy",
        "exact_match_rate",
        "exact_match_rate_with_invalids",
    ),
    "exact_match_accuracy": ("exact_match_rate", "exact_match_rate_with_invalids"),
    "exact_match_valid_only": ("valid_accuracy", "exact_match_rate_without_invalids"),
    "micro_precision": ("precision",),
    "micro_precision_without_invalid": (
        "precision_without_invalid",
        "precision_without_invalids",
        "avg_micro_precision_without_invalids",
    ),
    "micro_recall": ("recall",),
    "micro_f1": ("f1",),
    "micro_f1_without_invalid": ("f1_without_invalid", "f1_without_invalids", "avg_micro_f1_without_invalids"),
    "clipped_exact_match": ("avg_clipped_emr",),
    "clipped_micro_precision": ("avg_clipped_micro_precision",),
    "clipped_micro_recall": ("avg_clipped_micro_recall",),
    "clipped_micro_f1": ("avg_clipped_micro_f1",),
    "total_invalid_preds": ("invalid_predictions", "total_invalids"),
    "invalid_percentage": ("percentage_invalids", "invalid_predictions_percentage"),
    "total_samples": ("total_predictions", "num_timesteps", "total_timesteps"),
}


def with_synonyms(numbers: Numbers) -> Numbers:
    """The numbers under all their names; parts that are tables stand beside it line by line as well."""
    named = dict(numbers)
    for name, others in ALSO.items():
        if name in numbers:
            named.update(dict.fromkeys(others, numbers[name]))
    for value in numbers.values():
        if isinstance(value, Mapping):
            named.update(value)
    return named
