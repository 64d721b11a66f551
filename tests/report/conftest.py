"""What the tests of the report share: one real run of a suite with a camera, and a browser that tells on the page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run import FILE_NAME, KeySet, Plan, Record, RunWriter, read_run

FOLDER = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMIUM_ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own."""
    environment = {
        **os.environ,
        "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:syrupy -p no:anyio -p no:cacheprovider",
    }
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300)


@pytest.fixture(name="run_pytest", scope="session")
def run_pytest_fixture():
    return run_pytest


@pytest.fixture(scope="session")
def camera_folder(tmp_path_factory):
    """A folder with two finished runs, `run` and `other`, of 24 episodes each."""
    folder = tmp_path_factory.mktemp("camera")
    shutil.copy(FOLDER / "camera_suite.py", folder / "test_camera.py")
    for name, policy in (("run", "Half"), ("other", "Other")):
        done = run_pytest(
            folder, f"--vla-policy=test_camera:{policy}", f"--vla-run-dir={name}", "--vla-keep-actions", "-q"
        )
        assert (folder / name / "run.jsonl").exists(), done.stdout + done.stderr
    return folder


@pytest.fixture
def in_camera_folder(camera_folder, monkeypatch):
    """Suites of test files are found from where they were run."""
    monkeypatch.chdir(camera_folder)
    return camera_folder


@pytest.fixture(scope="session")
def camera_records(camera_folder):
    """The lines of the run file."""
    return [json.loads(line) for line in (camera_folder / "run" / "run.jsonl").read_text().splitlines()]


def record_of(index=0, outcome="solved", task="t", partition="seen", perturbation="", repeat=0, **more):
    """A record of the made-up suite `s`; further fields are the record's, or else the result's."""
    key = EpisodeKey("s", task, partition, index, perturbation, repeat=repeat)
    reason = {"unsolved": "step_limit", "error": "env_error"}.get(outcome)
    own = {name: more.pop(name) for name in ("nodeid", "test", "objection") if name in more}
    result = Result(key, outcome, reason, **{"initial_digest": "same", "seconds": 0.5, **more})
    return Record(result, **{"test": "passed" if result else "failed", **own})


@pytest.fixture(name="record_of", scope="session")
def record_of_fixture():
    return record_of


@pytest.fixture
def make_run(tmp_path):
    """Writes records as a run that has ended, and reads it back; `planned` are keys it should have had too."""

    def make(records, name="made", planned=(), lines=(), **policy):
        keys = KeySet.of([*(record.planned for record in records), *planned])
        identity = {"text": "made_up", "digest": "sha256:0", **policy}
        writer = RunWriter.create(tmp_path / name / FILE_NAME, {"type": "run", "policy": identity})
        for line in (Plan(keys, keys), *records, *lines):
            writer.write(line.to_record())
        writer.write({"type": "end"})
        writer.close()
        return read_run(tmp_path / name)

    return make


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, or a skip that says how to get one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs chromium: apt-get install -y chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens a page from its file. Whatever it complains of, or asks of the network, fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_it(path: Path, address: str = "", width: int = 1280, height: int = 900, scheme: str = "light"):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("requestfailed", lambda request: failed(request))
        page.on("request", lambda request: asked(request))
        page.goto(path.resolve().as_uri() + address)
        return page

    def asked(request):
        if not request.url.startswith(("file:", "blob:", "data:")):
            complaints.append(f"request: {request.url}")

    def failed(request):
        if request.resource_type != "media":  # a browser gives up on a film that is closed while it loads
            complaints.append(f"failed: {request.url[:100]}")

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
