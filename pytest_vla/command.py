"""What a command of `pytest-vla` is: a row of its room's `COMMANDS`, with the options that it shares with pytest."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pytest

from pytest_vla.command_line import SEVERAL, read_value
from pytest_vla.options import OPTIONS, Option

Purpose = Literal["look at a run", "judge it", "bring a policy", "bring a suite"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)  # what a person wants, in the order of the help
RUN_HELP = "a run folder or its run.jsonl, or the name or number of one in vla-runs/"
TRUST_HELP = "import, open and call what the run file names: only for files of people you trust"

_BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `run` gets what was typed and returns the exit code. It imports what is heavy when it is called."""

    name: str
    purpose: Purpose
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    description: str = ""


def share(parser: argparse.ArgumentParser, name: str, *more: str, **changes: Any) -> None:
    """Let a command take an option of pytest's as `--vla-NAME` and `--NAME`, read and refused as pytest does it.

    Args:
        name: of the option, which is not given when its value is None (or the `default` in `changes`).
        more: further flags for it.
        changes: what argparse is to be told otherwise: `default`, `help`, `required`.
    """
    option = _BY_NAME[name]
    arguments: dict[str, Any] = {"dest": option.key, "default": None, "help": option.help[0].lower() + option.help[1:]}
    arguments |= {"nargs": 0} if option.kind == "flag" else {"metavar": option.metavar}
    parser.add_argument(option.flag, f"--{name}", *more, action=_Read, option=option, **{**arguments, **changes})


def ask_for_trust(parser: argparse.ArgumentParser) -> None:
    """For commands that a data file could ask to do more than read it."""
    parser.add_argument("--trust", action="store_true", help=TRUST_HELP)


def typed_again(name: str, value: Any) -> list[str]:
    """An option as one types it to pytest; nothing where it was not given."""
    flag = _BY_NAME[name].flag
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    return [f"{flag}={','.join(value) if isinstance(value, tuple) else value}"]


def only(name: str, values: Sequence[str] | None, default: str | None = None) -> str:
    """The one value of an option that takes several elsewhere."""
    given = values or ((default,) if default is not None else ())
    if len(given) != 1:
        raise pytest.UsageError(f"{_BY_NAME[name].flag} must be one name here, got {', '.join(given) or 'none'}")
    return given[0]


def whole(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """The `type` of an argument that is a whole number within limits."""
    expected = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most}"

    def read(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
        return number

    return read


class _Read(argparse.Action):
    """Reads the text of an option at once, so that the error has the flag as it was typed."""

    def __init__(self, *arguments: Any, option: Option, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.option = option

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        typed = True if self.option.kind == "flag" else values
        value = read_value(self.option, typed, option_string or self.option.flag)
        before = getattr(namespace, self.dest)
        if self.option.kind in SEVERAL and before is not self.default:
            value = (*before, *value) if self.option.kind == "devices" else tuple(dict.fromkeys((*before, *value)))
        setattr(namespace, self.dest, value)
