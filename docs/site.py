"""The site's hook for mkdocs: the repository's pages in its own layout, and a reference made from the tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from pytest_vla.cli import COMMANDS
from pytest_vla.command import PURPOSES, Command
from pytest_vla.options import GROUPS

REPOSITORY = Path(__file__).parent.parent
REFERENCE = "docs/reference.md"
SHOWN = (
    "*.md",
    "docs/**/*",
    "suites/*/README.md",
    "suites/**/*.png",
    "fixtures/policies/*.md",
    "benchmarks/README.md",
)
HIDDEN = ("__pycache__", "site.py")


def on_files(files: Files, config: Any) -> Files:
    """Replace what mkdocs found in docs/ by the pages of the repository, each at its place there."""
    theme = [file for file in files if not Path(file.abs_src_path or "").is_relative_to(config.docs_dir)]
    pages = [
        File.generated(config, str(path.relative_to(REPOSITORY)), abs_src_path=str(path)) for path in shown_files()
    ]
    return Files([*theme, *pages, File.generated(config, REFERENCE, content=reference())])


def shown_files() -> Iterator[Path]:
    for pattern in SHOWN:
        for path in sorted(REPOSITORY.glob(pattern)):
            if path.is_file() and not set(path.parts) & set(HIDDEN):
                yield path


def reference() -> str:
    """All options of pytest and all commands, from the tables that also make the help."""
    lines = ["# Commands and options", "", "Made from the tables that the program reads: `pytest --help` and"]
    lines += ["`pytest-vla COMMAND --help` say the same.", "", "## Options of pytest", ""]
    lines += ["Each is also a name in `[tool.pytest_vla]` of `pyproject.toml`: `--vla-max-errors` is `max_errors`.", ""]
    for title, options in GROUPS.items():
        rows = [
            (f"{option.flag}={option.metavar}" if option.metavar else option.flag, option.help) for option in options
        ]
        lines += [f"### {title[0].upper()}{title[1:]}", "", *_table("option", rows), ""]
    lines += ["## Commands", ""]
    for purpose in PURPOSES:
        lines += [f"### {purpose[0].upper()}{purpose[1:]}", ""]
        for command in COMMANDS:
            if command.purpose == purpose:
                lines += _command(command)
    return "\n".join(lines) + "\n"


def _command(command: Command) -> list[str]:
    parser = argparse.ArgumentParser(prog=f"pytest-vla {command.name}", add_help=False)
    command.add_arguments(parser)
    about = command.description or f"{command.help[0].upper()}{command.help[1:]}."
    rows = [_argument(action) for action in parser._actions]
    table = [*_table("argument", rows), ""] if rows else []
    return [f"#### pytest-vla {command.name}", "", about, "", *table]


def _argument(action: argparse.Action) -> tuple[str, str]:
    """How it is typed, and what it is; choices and defaults are filled in as argparse does."""
    metavar = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    takes = action.nargs != 0
    typed = ", ".join(action.option_strings) + (f"={metavar}" if takes else "") if action.option_strings else metavar
    return str(typed), (action.help or "") % {"default": action.default}


def _table(title: str, rows: list[tuple[str, str]]) -> list[str]:
    return [f"| {title} | what |", "| --- | --- |", *(f"| {_code(typed)} | {_plain(text)} |" for typed, text in rows)]


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _plain(text: str) -> str:
    for character in "\\|<>*_[]`":
        text = text.replace(character, f"\\{character}")
    return text
