"""Texts of data files, made harmless for whoever prints them: a terminal, the log of a CI job, a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

SEVERAL_LINES = ("message", "objection", "instruction", "deaths")
"""Fields whose texts may have more than one line; a name has one."""
# A command to a CI job begins a text: a node id, which every line has, holds "::" further on.
_SUSPECT = re.compile(rb'\\[ubfnrt]|\xc2[\x80-\x9f]|\x7f|"[^!-~]*::|##\[')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COMMAND = re.compile(r"(^|\n)(\s*):(?=:)|#(?=#\[)")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_suspect(line: bytes) -> bool:
    """Whether a line of JSON may hold what `harmless` changes; most do not."""
    return _SUSPECT.search(line) is not None


def harmless(value: Any, several_lines: bool = False) -> Any:
    """The same data; control characters are visible escapes, and no line is a command to a CI job."""
    match value:
        case str():
            return _text(value, several_lines)
        case list():
            return [harmless(part, several_lines) for part in value]
        case dict():
            return {_text(str(name), False): harmless(part, name in SEVERAL_LINES) for name, part in value.items()}
    return value


def cell(text: str) -> str:
    """A text for a spreadsheet: one that it would take for a formula is marked as text."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _text(text: str, several_lines: bool) -> str:
    if not several_lines:
        text = text.replace("\n", "\\n").replace("\t", "\\t")
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return _COMMAND.sub(lambda found: f"{found[0]} ", text)
