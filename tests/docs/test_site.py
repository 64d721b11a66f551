"""The documentation site: it builds without a warning, every page is in it, and the reference has every option."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("material")

from pytest_vla.cli import COMMANDS
from pytest_vla.options import OPTIONS

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # the theme's word about its successor, not about us
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_suite_and_every_page_of_the_docs_has_a_place_and_is_linked(site):
    home = (site / "index.html").read_text()
    pages = [*REPOSITORY.glob("suites/*/README.md"), *REPOSITORY.glob("docs/*.md")]
    assert len(pages) > 30
    for page in pages:
        place = page.relative_to(REPOSITORY).with_suffix("")
        place = place.parent if place.name == "README" else place
        assert (site / place / "index.html").is_file(), place
        assert f'href="{place.as_posix()}/"' in home, place


def test_the_reference_has_every_option_and_every_command_with_its_arguments(site):
    text = (site / "docs" / "reference" / "index.html").read_text()
    assert [option.flag for option in OPTIONS if option.flag not in text] == []
    headings = re.findall(r'<h4 id="[^"]*">pytest-vla ([\w-]+)', text)
    assert sorted(headings) == sorted(command.name for command in COMMANDS)
    assert "--flips=N" in text
    assert "%(default)s" not in text


def test_no_page_or_style_is_fetched_from_elsewhere_and_search_is_there(site):
    for page in site.rglob("*.html"):
        fetched = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?(https?://[^" >]+)', page.read_text())
        assert [each for each in fetched if "canonical" not in each] == [], page
    assert "pytest-vla badge" in (site / "search" / "search_index.json").read_text()
