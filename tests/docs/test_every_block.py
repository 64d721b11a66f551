"""Every fenced block of README and docs: parsed in every run, executed by a proof."""

import argparse
import re
import textwrap
import tomllib

import pytest
from pages import LANGUAGES, PAGES, blocks, run_page

from pytest_vla.cli import COMMANDS
from pytest_vla.options import OPTIONS

NAMES = [page.name for page in PAGES]
KNOWN = {option.flag for option in OPTIONS}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_can_be_read(page):
    for block in blocks(page):
        assert block.language in LANGUAGES, block
        if block.language == "python":
            compile(textwrap.dedent(block.text), page.name, "exec")
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "yaml":
            pytest.importorskip("yaml").safe_load(block.text)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_exists_with_its_options(page):
    programs = ("pip ", "pytest ", "pytest-vla ", "python ", "pre-commit ", "chromium ")
    for command in [command for block in blocks(page) if block.language == "" for command in block.commands]:
        assert command.startswith(programs), f"not a command; if it is output, write ```text: {command}"
        for part in re.split(r" && ", command):
            if part.startswith("pytest "):
                assert set(re.findall(r"--vla-[a-z-]+", part)) <= KNOWN, part
            elif part.startswith("pytest-vla "):
                _, name, *words = part.split()
                (found,) = [each for each in COMMANDS if each.name == name]
                parser = argparse.ArgumentParser()
                found.add_arguments(parser)
                options = {flag for action in parser._actions for flag in action.option_strings}
                assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options, part


@pytest.mark.proof
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_runs_as_pasted(page, tmp_path):
    failures = run_page(page, tmp_path)
    assert not failures, "\n\n".join(failures)
