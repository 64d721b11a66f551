"""What a raw answer looks like, by a fixed cascade that is the same for every policy and every question."""

from __future__ import annotations

import re

TEXT, CONTINUOUS, DISCRETE, OPTION, CALL = "text", "continuous_action", "discrete_action", "option", "function_call"
OUTPUTS = (TEXT, CONTINUOUS, DISCRETE, OPTION, CALL)
"""The types that can be asked for."""

FORMS = (
    "empty",
    "call",
    "action_tokens",
    "coordinate",
    "vector",
    "integer",
    "yes_no",
    "gibberish",
    "short_text",
    "long_text",
)
"""What can come back, in the order in which it is looked for (`coordinate` is looked for before `call`)."""

NOTHING = ("empty", "gibberish")
"""Forms of no type at all: they are failures of format, not of another modality."""

FITTING = {
    TEXT: ("yes_no", "short_text", "long_text", "integer"),
    CONTINUOUS: ("vector",),
    DISCRETE: ("integer", "vector"),
    OPTION: ("integer",),
    CALL: ("call",),
}

LOOKED_AT = 4000  # characters; what is longer is of the form of its beginning
SHORT_WORDS = 12
REPEATED_TOKENS, REPEATED_SHARE = 8, 0.3  # from so many tokens on, fewer different ones than this are babble
ODD_SHARE = 0.1  # of characters that nobody writes

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COORDINATE = re.compile(rf"(?<!\w)\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*(?:,\s*{_NUMBER}\s*){{0,2}}\)")
_CALL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\s?\(")
_TOKENS = re.compile(r"(?:<[A-Za-z_|]{1,24}\d{0,5}[|]?>\s*)+")
_VECTOR = re.compile(
    rf"[\[(]?\s*(?:{_NUMBER}|nan|-?inf)(?:(?:\s*,\s*|\s+)(?:{_NUMBER}|nan|-?inf))+\s*,?\s*[\])]?", re.I
)
_BROKEN_VECTOR = re.compile(rf"[\[(]\s*(?:{_NUMBER}\s*,\s*)*(?:{_NUMBER})?\s*[\])]?")
_INTEGER = re.compile(r"[-+]?\d+")
_YES_NO = re.compile(r"(?:yes|no)[.!]?", re.I)
_ODD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd\ud800-\udfff]")


def form_of(text: str) -> str:
    """The first of FORMS that the text has."""
    text = text[:LOOKED_AT].strip()
    if not text:
        return "empty"
    if len(_ODD.findall(text)) > ODD_SHARE * len(text):
        return "gibberish"
    if _TOKENS.fullmatch(text):
        return "action_tokens"
    if _INTEGER.fullmatch(text):
        return "integer"
    if _VECTOR.fullmatch(text) and not _COORDINATE.fullmatch(text):
        return "vector"
    if _BROKEN_VECTOR.fullmatch(text):
        return "coordinate" if _COORDINATE.fullmatch(text) else "vector"
    if is_coordinate(text):
        return "coordinate"
    if _CALL.search(text):
        return "call"
    if _YES_NO.fullmatch(text):
        return "yes_no"
    if is_babble(text):
        return "gibberish"
    return "short_text" if len(text.split()) <= SHORT_WORDS else "long_text"


def is_coordinate(text: str) -> bool:
    """Whether a place is told: two to four numbers in parentheses that are no arguments."""
    return _COORDINATE.search(text[:LOOKED_AT]) is not None


def is_babble(text: str) -> bool:
    """No letter or digit at all, or the same few tokens again and again."""
    tokens = text.split()
    if not any(map(str.isalnum, text)):
        return True
    return len(tokens) >= REPEATED_TOKENS and len(set(tokens)) < REPEATED_SHARE * len(tokens)


def misaligned(requested: str, produced: str, readable: bool) -> bool:
    """Whether an answer is of another type than was asked for, so that nothing could be read of it.

    Words are always readable as text: there the form alone decides.
    """
    if produced in FITTING[requested] or produced in NOTHING:
        return False
    return requested == TEXT or not readable
