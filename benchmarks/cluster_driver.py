"""What a result costs the driver: CPU time and memory, while workers send as fast as they can.

The time is that of real messages: the reports of an oracle's run of VIMA are kept by its workers, and sent once more by
workers that only send. The memory is that of many more episodes, which do nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cluster_planning import SUITE

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
WORKERS = 2
CELLS = 42  # of VIMA
KEEPING = """
import json
import pytest

FILE = None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_report_to_serializable(config, report):
    outcome = yield
    if hasattr(config, "workerinput") and getattr(report, "when", None):
        global FILE
        FILE = FILE or open(f"kept-{config.workerinput['workerid']}.jsonl", "w")
        print(json.dumps([report.nodeid, outcome.get_result()]), file=FILE)
"""
SENDING = """
import json
from pathlib import Path

KEPT = {}


def pytest_runtest_protocol(item, nextitem):
    for file in [] if KEPT else Path.cwd().glob("kept-*.jsonl"):
        for node, report in map(json.loads, file.open()):
            KEPT.setdefault(node, []).append(report)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for data in KEPT[item.nodeid]:
        report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def measure(results: int = 20_000, messages: int = 4_200) -> dict[str, float]:
    """Both between the first tenth of a run's results and its last."""
    with tempfile.TemporaryDirectory() as folder:
        vima = ["--vla-suite=vima", "--vla-policy=oracle", f"--vla-episodes={messages // CELLS}"]
        Path(folder, "keeping.py").write_text(KEEPING)
        Path(folder, "sending.py").write_text(SENDING)
        subprocess.run(_pytest(*vima, "-p", "keeping", "--vla-run-dir=kept"), cwd=folder, check=True, env=_here(folder))
        seconds, _, count = _cost(folder, messages, *vima, "-p", "sending")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_still.py").write_text(SUITE)
        _, size, _ = _cost(folder, results, "test_still.py", "--vla-policy=noop", f"--vla-episodes={results // 10}")
    return {"driver_cpu_ms": round(1e3 * seconds, 3), "driver_bytes": round(size, 1), "messages": count}


def _cost(folder: str, results: int, *options: str) -> tuple[float, float, int]:
    """CPU seconds and bytes of a result, and of how many."""
    command = _pytest(*options, "--vla-run-dir=run")
    driver = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=_here(folder))
    file = Path(folder, "run", "run.jsonl")
    first = _reading(driver, file, results // 10)
    last = _reading(driver, file, results * 9 // 10)
    if driver.wait() not in (0, 1):
        raise RuntimeError(f"the run ended with {driver.returncode}")
    count = last[0] - first[0]
    return (last[1] - first[1]) / count, (last[2] - first[2]) / count, count


def _pytest(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *options, f"-n{WORKERS}", "-q", "-p", "no:cacheprovider"]


def _here(folder: str) -> dict[str, str]:
    """The environment of a run whose workers find the plugins in a folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))}


def _reading(driver: subprocess.Popen[bytes], file: Path, wanted: int) -> tuple[int, float, int]:
    """Once so many results are written: their number, the driver's CPU seconds and its memory."""
    while driver.poll() is None:
        count = _lines(file)
        if count >= wanted:
            fields = Path(f"/proc/{driver.pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(Path(f"/proc/{driver.pid}/statm").read_text().split()[1])
            return count, (int(fields[11]) + int(fields[12])) * TICK_S, pages * os.sysconf("SC_PAGE_SIZE")
        time.sleep(0.02)
    raise RuntimeError(f"the run ended with {driver.returncode} before {wanted} results")


def _lines(file: Path) -> int:
    if not file.exists():
        return 0
    with file.open("rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(1 << 20), b""))


if __name__ == "__main__":
    print(measure())
