"""What docs/policies.md shows, run."""

import re
from pathlib import Path

import pytest

from pytest_vla.cli import main
from pytest_vla.options import OPTIONS
from pytest_vla.policies.kinds import KINDS, markdown_table

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def documented(reach):
    """A project with the policy of the page."""
    code, *_ = re.findall(r"```python\n(.*?)```", (DOCS / "policies.md").read_text(), re.DOTALL)
    (reach.path / "my_policy.py").write_text(code)
    return reach


def test_the_policy_of_the_page_solves_the_example_suite(documented):
    commands = re.findall(r"^pytest (test_reach\.py .*?)(?:\s+#.*)?$", (DOCS / "policies.md").read_text(), re.MULTILINE)
    here = [command for command in commands if "env:" not in command]  # the others need an environment of the reader's
    assert len(here) == 2
    for command in here:
        result = documented.runpytest_subprocess(*command.split(), "--vla-episodes=3")
        assert result.ret == 0
        result.stdout.fnmatch_lines(["12 of 12 episodes solved, 0 errors*"])


def test_the_policy_of_the_page_is_as_short_as_it_says():
    code, *_ = re.findall(r"```python\n(.*?)```", (DOCS / "policies.md").read_text(), re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 15


@pytest.mark.parametrize("page", ["policies.md", "serve.md"])
def test_every_option_on_the_page_exists(page, capsys):
    known = [option.flag for option in OPTIONS]
    for command in ("serve", "tune"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    help_text = capsys.readouterr().out
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", (DOCS / page).read_text())):
        assert option in known or option in help_text or option == "--server-url", option


def test_the_tables_of_the_docs_are_the_table_of_kinds():
    table = markdown_table()
    assert table in (DOCS / "policies.md").read_text()
    title, rule, *rows = table.splitlines()
    readme = (DOCS.parent / "README.md").read_text()
    (shown,) = re.findall(rf"^{re.escape(title)}\n{re.escape(rule)}\n((?:\|.*\n)+)", readme, re.MULTILINE)
    assert set(shown.splitlines()) <= set(rows)


def test_help_errors_and_skips_name_every_kind(reach):
    written = [kind.write for kind in KINDS]
    shown = " ".join(reach.runpytest_subprocess("--help").stdout.str().split())
    skipped = " ".join(reach.runpytest_subprocess("-rs").stdout.str().split())
    refused = reach.runpytest_subprocess("--vla-policy=model.onnx").stderr.str()
    for text in (shown, skipped, refused):
        assert all(write in text for write in written), text
