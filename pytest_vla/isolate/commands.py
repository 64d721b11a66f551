"""The commands that make and remove environments."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vla.command import Command


def _install_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="of the environment (pytest-vla environments), or a folder that declares one",
    )
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
    from pytest_vla.isolate.environment import DECLARATION, declared_in, environment
    from pytest_vla.isolate.install import install, keep_declaration

    folders = {name: Path(name) for name in options.names if (Path(name) / DECLARATION).is_file()}
    wanted = {
        name: declared_in(folders[name]) if name in folders else environment("+".join([name, *options.others]))
        for name in options.names
    }
    for name, one in wanted.items():
        install(one, offline=options.offline, say=lambda line: print(line, flush=True))
        if name in folders:
            keep_declaration(one, folders[name])
    return 0


def _environments(options: argparse.Namespace) -> int:
    """Every environment by name: what is declared, and what is installed of it."""
    from pytest_vla.isolate.environment import declarations, environment, environments_folder, installed
    from pytest_vla.isolate.install import size_text

    root = environments_folder()
    there = {path.name for path in root.iterdir() if installed(path.name)} if root.is_dir() else set()
    for name in sorted({*declarations(), *there}):
        declared, receipt = environment(name), installed(name)
        state = (
            f"Python {receipt.python}, {size_text(receipt.bytes)}" if receipt else f"not installed: {declared.command}"
        )
        print(f"{name}: {', '.join((*declared.alone, *declared.requirements[:1]))} ({state})")
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
        "make the environment that a suite or a policy runs in",
        _install_arguments,
        _install,
        "Make the environment that a suite or a policy runs in: packages of its own, away from yours. What was begun "
        "goes on.",
    ),
    Command(
        "environments",
        "bring a suite",
        "list the environments of suites and policies, and how big they are",
        lambda parser: None,
        _environments,
    ),
    Command("uninstall", "bring a suite", "remove environments", _uninstall_arguments, _uninstall),
)
