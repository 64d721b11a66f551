"""The commands that make and remove environments."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vla.command import Command


def _install_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="of the environment: pytest-vla suites shows them")
    parser.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="OTHER",
        help="install NAME into the packages of this other one: a new environment, NAME+OTHER",
    )
    parser.add_argument("--offline", type=Path, metavar="WHEELDIR", help="take everything from this folder of wheels")


def _uninstall_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="of the environment; NAME+OTHER where it is combined")


def _install(options: argparse.Namespace) -> int:
    from pytest_vla.isolate.environment import environment
    from pytest_vla.isolate.install import install

    wanted = [environment("+".join([name, *options.others])) for name in options.names]
    for one in wanted:
        install(one, offline=options.offline, say=lambda line: print(line, flush=True))
    return 0


def _uninstall(options: argparse.Namespace) -> int:
    from pytest_vla.isolate.environment import IsolateError, place_of
    from pytest_vla.isolate.install import remove

    folders = [place_of(name) for name in options.names]
    for folder in folders:
        if not folder.is_dir():
            raise IsolateError(f"there is nothing in {folder}")
        remove(folder)
        print(f"removed {folder}")
    return 0


COMMANDS = (
    Command(
        "install",
        "bring a suite",
        "make the environment that a suite runs in",
        _install_arguments,
        _install,
        "Make the environment that a suite runs in: packages of its own, away from yours. What was begun goes on.",
    ),
    Command("uninstall", "bring a suite", "remove environments", _uninstall_arguments, _uninstall),
)
