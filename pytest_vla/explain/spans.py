"""The words and phrases of an instruction: spans that are hidden one at a time, the long ones around the short ones."""

from __future__ import annotations

import re
from itertools import pairwise

from pytest_vla.explain.interventions import Span

MOST = 64
_WORD = re.compile(r"\{[^{}]*\}|[A-Za-z]+(?:'[a-z]+)?|\d+(?:\.\d+)?")
_STOP = re.compile(r"[.;:!?]|,(?!\d)")
OPENERS = frozenset(
    (
        "at",
        "on",
        "in",
        "into",
        "onto",
        "to",
        "from",
        "with",
        "without",
        "of",
        "by",
        "near",
        "under",
        "over",
        "above",
        "below",
        "between",
        "inside",
    )
)
JOINTS = frozenset(("and", "then", "while", "so", "that", "which", "after", "before", "first"))
ARTICLES = frozenset(("the", "a", "an", "this", "that", "all", "each", "every"))

Range = tuple[int, int]


def spans_of(instruction: str, masked: bool = False) -> list[Span]:
    """Every word, and every phrase that a preposition, an article, a number or a comma sets apart; shortest last."""
    words = [match.span() for match in _WORD.finditer(instruction)]
    ranges = {*words, *_phrases(instruction, words)} - {(0, len(instruction))}
    ordered = sorted(ranges, key=lambda each: (each[0] - each[1], each[0]))[:MOST]
    return [Span(start, stop, instruction[start:stop], masked) for start, stop in ordered]


def _phrases(text: str, words: list[Range]) -> set[Range]:
    found: set[Range] = set()
    for clause in _clauses(text, words):
        found.add(_whole(text, clause))
        for number, (start, stop) in enumerate(clause):
            word = text[start:stop].lower()
            if word in OPENERS or word in ARTICLES:
                found.add(_whole(text, clause[number : _end(text, clause, number)]))
        for one, other in pairwise(clause):  # "row 3", "position (3,4)"
            if text[slice(*other)][0].isdigit():
                numbers = [each for each in clause if each[0] >= other[0]]
                run = [other]
                for each in numbers[1:]:
                    if not text[slice(*each)][0].isdigit():
                        break
                    run.append(each)
                found |= {_whole(text, [one, *run])} if not text[slice(*one)][0].isdigit() else set()
                found.add(_whole(text, run))
    return found


def _clauses(text: str, words: list[Range]) -> list[list[Range]]:
    """Words between stops and joints."""
    clauses: list[list[Range]] = [[]]
    for number, (start, stop) in enumerate(words):
        before = text[words[number - 1][1] : start + 1] if number else ""
        if _STOP.search(before) or text[start:stop].lower() in JOINTS:
            clauses.append([])
        if text[start:stop].lower() not in JOINTS:
            clauses[-1].append((start, stop))
    return [clause for clause in clauses if clause]


def _end(text: str, clause: list[Range], first: int) -> int:
    """Where a phrase ends: before the next preposition."""
    for number in range(first + 1, len(clause)):
        if text[slice(*clause[number])].lower() in OPENERS:
            return number
    return len(clause)


def _whole(text: str, words: list[Range]) -> Range:
    """From the first word to the last, with the brackets around them."""
    start, stop = words[0][0], words[-1][1]
    for left, right in ("()", "[]", "''", '""'):
        if start and text[start - 1] == left and text[stop : stop + 1] == right:
            return start - 1, stop + 1
        if text[start:stop].count(left) > text[start:stop].count(right) and text[stop : stop + 1] == right:
            return start, stop + 1
    return start, stop
