"""What the tests of several rooms share: a folder with the toy suite of the docs, and a way to read its runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from pytest_vla.policies.trust import trust, trusted

pytest_plugins = ["distribution"]

REPOSITORY = Path(__file__).parent.parent
# A loaded machine is no defect, and CI draws the same examples every time.
settings.register_profile("tests", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tests")

# As many processes as cores run already: threads of torch would spin while they wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job: then no child hears Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

LEAN = " ".join(
    f"-p no:{name}" for name in ("hypothesispytest", "syrupy", "anyio", "platformdirs", "unraisableexception")
)
TOY_SUITE = REPOSITORY / "docs" / "examples" / "test_reach.py"


@pytest.fixture(scope="session", autouse=True)
def lean_runs() -> Iterator[None]:
    """Runs that tests start do without plugins that have no part in them: each costs every process time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", LEAN)
        yield


@pytest.fixture(autouse=True)
def nobody_is_trusted() -> Iterator[None]:
    """Whose code may run is said for a whole process, and no test says it for the next."""
    before = trusted()
    yield
    trust(before)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own takes such options out of the environment."""
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)
    return pytester


@pytest.fixture(scope="session")
def numpy_stays() -> None:
    """In-process runs forget the modules they imported, which numpy does not survive: import it before them."""
    import gymnasium  # noqa: F401
    import scipy.stats  # noqa: F401


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """Imported once, before any in-process run (see numpy_stays)."""
    return pytest.importorskip("torch")


@pytest.fixture
def reach(numpy_stays: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project with the example suite `reach`, and misbehaving policies in the module `bad`."""
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    shutil.copy(TOY_SUITE, pytester.path)
    shutil.copy(Path(__file__).parent / "plugin" / "bad.py", pytester.path)
    return pytester


def read_episodes(run: Path) -> dict[str, dict]:
    """The episode lines of a run by their key, each of which must be there once."""
    path = run / "run.jsonl" if run.is_dir() else run
    records = [json.loads(line) for line in path.read_text().splitlines()]
    episodes = [record for record in records if record["type"] == "episode"]
    by_key = {f"{r['suite']}/{r['task']}-{r['partition']}-{r['index']:02d}{r['perturbation']}": r for r in episodes}
    assert len(by_key) == len(episodes), "an episode is in the run file twice"
    return by_key


@pytest.fixture(name="read_episodes")
def read_episodes_fixture():
    return read_episodes
