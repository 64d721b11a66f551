"""One parser for all policies: what was asked for, and what a raw answer says, strictly and leniently.

Nothing of an answer is ever executed. What is too long or nested too deep to be read is refused before it is looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_vla.answers.forms import CALL, CONTINUOUS, DISCRETE, OPTION, is_coordinate

LONGEST = 20_000  # characters that are read
DEEPEST = 30  # brackets within brackets
SUM_TOLERANCE = 1e-5
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.I)
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_CALLS = re.compile(r"\w+\s*\([^)]*\)")
_REFUSAL = re.compile(r"\b(?:i cannot|i can't|i am unable|i'm unable|as an ai|i'm sorry|i am sorry)\b", re.I)
_NOT_WORDS = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class Ask:
    """What an answer must be."""

    output: str
    """One of OUTPUTS."""
    size: int = 0
    """Dimensions of a vector, or how many options or actions there are."""
    functions: tuple[str, ...] = ()
    """The functions that may be called; none where any may."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, or the reason why there is none."""

    value: Any = None
    reason: str = ""


def strict(answer: Any, ask: Ask) -> Reading:
    """What the answer is, where it is nothing else."""
    if not isinstance(answer, str):
        return _checked(answer, ask)
    text = without_thoughts(answer)
    problem = _unreadable(text)
    if problem:
        return Reading(reason=problem)
    if ask.output == OPTION:
        return _integer(text, ask)
    if ask.output == CONTINUOUS:
        return _vector(text, ask)
    if ask.output == DISCRETE:
        return _vector(text, ask) if text[0] in "[(" else _integer(text, ask)
    if ask.output == CALL:
        return _calls(text, ask)
    return Reading(normalised(text))


def lenient(answer: Any, ask: Ask) -> Reading:
    """What the answer holds somewhere in it."""
    first = strict(answer, ask)
    if not isinstance(answer, str) or first.reason in ("empty", "too_long"):
        return first
    text = without_thoughts(answer)
    if ask.output in (OPTION, DISCRETE):
        return first if not first.reason else _first_integer(text, ask, first)
    if ask.output == CONTINUOUS:
        return first if not first.reason else _first_vector(text, ask, first)
    if ask.output == CALL:
        return _found_calls(text, first)
    digit = text.strip()
    return Reading(DIGITS[int(digit)]) if len(digit) == 1 and digit in "0123456789" else first


def without_thoughts(text: str) -> str:
    """The answer itself: what a model thinks first is not part of it."""
    if "<think>" in text[:LONGEST]:
        text = _THOUGHT.sub("", text)
    return text.strip()


def normalised(text: str) -> str:
    """Small letters without punctuation, one space between words."""
    return " ".join(_NOT_WORDS.sub("", text.lower()).split())


def normalised_label(text: str) -> str:
    """The same of a right answer. Apostrophes stay: the published comparisons tell "clothes'" and "clothes" apart."""
    return "'".join(map(normalised, text.split("'")))


def _unreadable(text: str) -> str:
    if not text:
        return "empty"
    if len(text) > LONGEST:
        return "too_long"
    return "truncated" if _depth(text) > DEEPEST else ""


def _depth(text: str) -> int:
    deepest = depth = 0
    for sign in text:
        if sign in "[({":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "])}":
            depth -= 1
    return deepest


# --- whole numbers ---------------------------------------------------------------------------------------------------


def _integer(text: str, ask: Ask) -> Reading:
    if _INTEGER.fullmatch(text):
        return _in_range(int(text), ask)
    if _NOT_FINITE.fullmatch(text):
        return Reading(reason="not_finite")
    return Reading(reason=_why_not(text, has_it=_standalone(text) is not None))


def _in_range(number: int, ask: Ask) -> Reading:
    return Reading(number) if 0 <= number < ask.size else Reading(reason="out_of_range")


def _standalone(text: str) -> str | None:
    found = re.search(r"\d+", text)
    return found[0] if found is not None else None


def _first_integer(text: str, ask: Ask, first: Reading) -> Reading:
    """The first integer; none in an answer that tells a place, or is itself a list of numbers."""
    if ask.output == DISCRETE and text[:1] in "[(":
        return _first_vector(text, ask, first)
    found = _standalone(text)
    if found is None or is_coordinate(text) or first.reason == "out_of_range":
        return first if found is None or first.reason == "out_of_range" else Reading(reason="wrong_type")
    return _in_range(int(found), ask) if len(found) <= 18 else Reading(reason="out_of_range")


# --- vectors ---------------------------------------------------------------------------------------------------------


def _vector(text: str, ask: Ask) -> Reading:
    opened, closed = text[0], text[-1]
    if opened not in "[(":
        return Reading(reason=_why_not(text, has_it=_BRACKETED.search(text) is not None))
    if closed != {"[": "]", "(": ")"}[opened]:
        return Reading(reason="extra_text" if _BRACKETED.search(text) else "truncated")
    return _numbers(text[1:-1], ask)


def _numbers(inside: str, ask: Ask) -> Reading:
    parts = [part.strip() for part in inside.split(",")]
    if parts[-1] == "":
        parts = parts[:-1]
    if any(_NOT_FINITE.fullmatch(part) for part in parts):
        return Reading(reason="not_finite")
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return Reading(reason="wrong_type")
    return _checked([float(part) for part in parts], ask)


def _first_vector(text: str, ask: Ask, first: Reading) -> Reading:
    """The first bracketed list of numbers of the right length."""
    for found in _BRACKETED.finditer(text[:LONGEST]):
        reading = _numbers(found[1], ask)
        if not reading.reason:
            return reading
    return first


# --- calls -----------------------------------------------------------------------------------------------------------


def _calls(text: str, ask: Ask) -> Reading:
    """Calls and nothing else: one, a list of them, or one a line."""
    nodes = _parsed(text)
    if nodes is None:
        parts = [_parsed(line) for line in text.splitlines() if line.strip()]
        nodes = [node for part in parts if part for node in part] if parts and all(parts) else None
    if nodes is None:
        return Reading(reason=_why_not(text, has_it=_CALLS.search(text) is not None))
    return _allowed([ast.unparse(node) if source is None else source for node, source in nodes], ask)


def _parsed(text: str) -> list[tuple[ast.Call, str | None]] | None:
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    items = body.elts if isinstance(body, (ast.List, ast.Tuple)) else [body]
    found: list[tuple[ast.Call, str | None]] = []
    for item in items:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):  # a list of texts that are calls
            inner = call_of(item.value)
            if inner is None:
                return None
            found.append((inner, item.value.strip()))
        elif isinstance(item, ast.Call):
            found.append((item, ast.get_source_segment(text.strip(), item)))
        else:
            return None
    return found


def _allowed(calls: Sequence[str], ask: Ask) -> Reading:
    for call in calls:
        node = call_of(call)
        if node is None:
            return Reading(reason="wrong_type")
        if ask.functions and _name(node) not in ask.functions:
            return Reading(reason="unknown_function")
    return Reading(list(calls))


def _found_calls(text: str, first: Reading) -> Reading:
    """Whatever looks like a call, one after the other, as the benchmark's own extraction has it."""
    found = [" ".join(call.split()) for call in _CALLS.findall(text)]
    return Reading(found) if found else first


def call_of(text: str) -> ast.Call | None:
    """The call that a text is: of a bare name, with literal arguments; None for anything else."""
    if len(text) > LONGEST or _depth(text) > DEEPEST:
        return None
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            ast.literal_eval(argument)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None
    return node if all(keyword.arg for keyword in node.keywords) else None


def canonical(call: str, signatures: dict[str, tuple[str, ...]] | None = None) -> str:
    """A call as one text for all ways to write it: arguments by name, in order; the text itself where it is none."""
    node = call_of(call)
    if node is None:
        return " ".join(call.split())
    names = (signatures or {}).get(_name(node), ())
    given = {names[n] if n < len(names) else str(n): ast.literal_eval(value) for n, value in enumerate(node.args)}
    given.update({str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords})
    return f"{_name(node)}({', '.join(f'{name}={given[name]!r}' for name in sorted(given))})"


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


# --- values that are none of text ------------------------------------------------------------------------------------


def _checked(value: Any, ask: Ask) -> Reading:
    """A number, a vector or a list of calls, as a policy of ours may give it."""
    if isinstance(value, bool) or value is None:
        return Reading(reason="wrong_type" if value is not None else "empty")
    if ask.output == CALL:
        if isinstance(value, (list, tuple)) and all(isinstance(call, str) for call in value):
            return _allowed([call[: LONGEST + 1] for call in value], ask)
        return Reading(reason="wrong_type")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError, RecursionError):
        return Reading(reason="wrong_type")
    if array.dtype.kind not in "iuf":
        return Reading(reason="wrong_type")
    if array.size == 1 and ask.output in (OPTION, DISCRETE):
        return _in_range(int(array.item()), ask) if array.dtype.kind in "iu" else Reading(reason="wrong_type")
    if ask.output not in (CONTINUOUS, DISCRETE):
        return Reading(reason="wrong_type")
    if array.ndim != 1 or len(array) != ask.size:
        return Reading(reason="wrong_length")
    if not np.isfinite(array).all():
        return Reading(reason="not_finite")
    if ask.output == DISCRETE:
        if array.min() < 0 or array.max() > 1:
            return Reading(reason="out_of_range")
        if abs(array.sum() - 1) > SUM_TOLERANCE:
            return Reading(reason="not_normalised")
    return Reading(array.astype(np.float64))


def _why_not(text: str, has_it: bool) -> str:
    """Why a text that is not the answer is none: it says it among other things, refuses, or says something else."""
    if is_coordinate(text):
        return "wrong_type"
    if has_it:
        return "extra_text"
    return "refusal" if _REFUSAL.search(text) else "wrong_type"
