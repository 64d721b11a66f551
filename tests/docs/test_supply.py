"""What is installed and shipped: locked by hash, pinned by commit, listed by a command, with its tests."""

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def test_the_lock_has_a_hash_for_every_package_and_the_constrained_version():
    pinned = dict(
        line.lower().replace("_", "-").split("==")
        for line in (REPOSITORY / "constraints.txt").read_text().splitlines()
        if "==" in line and ";" not in line and not line.startswith("#")
    )
    text = (REPOSITORY / "requirements.lock").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("#", "--"))]
    assert len(lines) > 30
    for line in lines:
        name, version, _ = re.fullmatch(r"([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})", line).groups()
        assert pinned.get(name.replace("_", "-"), version).partition("+")[0] == version.partition("+")[0], line


def test_a_build_that_pypi_does_not_have_is_locked_with_the_index_that_has_it():
    text = (REPOSITORY / "requirements.lock").read_text()
    assert ("+cpu" in text) == ("\n--extra-index-url https://download.pytorch.org/whl/cpu\n" in text)


def test_the_workflow_installs_by_hash_and_pins_its_actions():
    text = (REPOSITORY / "docs" / "workflows" / "vla-gate.yml").read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each) for each in used)
    assert "--require-hashes -r requirements.lock" in text


def test_the_list_of_what_is_installed_is_cyclonedx(tmp_path):
    subprocess.run([sys.executable, REPOSITORY / ".ci" / "sbom.py", tmp_path / "sbom.json"], check=True)
    listed = json.loads((tmp_path / "sbom.json").read_text())
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", "pytest-vla")
    names = {each["name"]: each for each in listed["components"]}
    assert {"pytest", "numpy", "gymnasium"} <= set(names)
    assert names["pytest"]["purl"] == f"pkg:pypi/pytest@{pytest.__version__}"
    known = {each["bom-ref"] for each in (*listed["components"], listed["metadata"]["component"])}
    assert {each["ref"] for each in listed["dependencies"]} == known


@pytest.mark.slow
def test_the_source_distribution_carries_tests_and_docs(tmp_path):
    pytest.importorskip("build")
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    for wanted in (
        "tests/conftest.py",
        "tests/plugin/test_runs.py",
        "SECURITY.md",
        "requirements.lock",
        "constraints.txt",
    ):
        assert wanted in names
    assert "suites/vima/tasks/rotate.py" in names
    assert "docs/examples/test_reach.py" in names
