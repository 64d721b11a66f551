"""What a result costs the driver: CPU time and memory, while workers send as fast as they can."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cluster_planning import SUITE

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def measure(results: int = 20_000, workers: int = 2) -> dict[str, float]:
    """Of a run of episodes that do nothing, between its first tenth and its last."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_still.py").write_text(SUITE)
        command = [sys.executable, "-m", "pytest", "test_still.py", "--vla-policy=noop", f"-n{workers}", "-q"]
        command += [f"--vla-episodes={results // 10}", "--vla-run-dir=run", "-p", "no:cacheprovider"]
        driver = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        file = Path(folder, "run", "run.jsonl")
        first = _reading(driver, file, results // 10)
        last = _reading(driver, file, results * 9 // 10)
        driver.wait()
    count = last[0] - first[0]
    return {
        "driver_cpu_ms": round(1e3 * (last[1] - first[1]) / count, 3),
        "driver_bytes": round((last[2] - first[2]) / count, 1),
        "results": count,
    }


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
