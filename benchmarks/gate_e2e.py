"""Does the gate keep its word where people type it? Coins of a known rate: `python -m benchmarks.gate_e2e [--quick]`.

A policy at the boundary is gated by typed commands in five modes; it must not pass at the lower bound, nor fail at the
upper one, in more than 5% of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from zlib import crc32

from benchmarks.gate_errors import ErrorRate
from benchmarks.warm import Warm

SUITE = Path(__file__).with_name("coins.py")
LOW, HIGH = 0.55, 0.75
GATE = f'[tool.pytest_vla.gate]\nby = "partition"\n[tool.pytest_vla.gate.success]\n"coins" = [{LOW}, {HIGH}]\n'
PER_TASK = 12  # 60 in all: what a fixed number of episodes needs for these bounds is about that
PASS, FAIL, UNDECIDED = 0, 1, 6
PLAIN = "-q -p no:hypothesispytest -p no:syrupy -p no:cacheprovider -p no:xdist"


@dataclass(frozen=True)
class Coin:
    """A folder with the suite, and a coin of this rate in it."""

    folder: Path
    rate: float
    salt: str
    warm: Warm

    def pytest(self, run: str, *options: str, kill: int = 0) -> int:
        typed = ["pytest", "test_coins.py", "--vla-policy=oracle", f"--vla-run-dir={run}"]
        if not any(option.startswith("--vla-episodes") for option in options):
            typed.append(f"--vla-episodes={PER_TASK}")
        return self._run([*typed, *options], kill)

    def command(self, *words: str) -> int:
        return self._run(["pytest_vla.cli", *words])

    def _run(self, words: list[str], kill: int = 0) -> int:
        coin = {"COIN_RATE": str(self.rate), "COIN_SALT": self.salt, "COIN_KILL": str(kill), "PYTEST_ADDOPTS": PLAIN}
        status, said = self.warm.run(words, self.folder, coin)
        if status not in (PASS, FAIL, UNDECIDED, -9):
            raise RuntimeError(f"{' '.join(words)} ended with {status}:\n{said}")
        return status


def fixed(coin: Coin) -> list[int]:
    return [coin.pytest("run", "--vla-gate")]


def early_stop_pooled(coin: Coin) -> list[int]:
    return [coin.pytest("run", "--vla-early-stop", f"--vla-episodes={2 * PER_TASK}")]


def sharded_and_merged(coin: Coin) -> list[int]:
    for shard in ("1", "2"):
        coin.pytest(f"part{shard}", f"--vla-shard={shard}/2")
    coin.command("merge", "part1", "part2", "-o", "union")
    return [coin.command("gate", "union")]


def resumed(coin: Coin) -> list[int]:
    """Until it is decided, or three times as many episodes have not done it."""
    codes = [coin.pytest("run", "--vla-gate", "--vla-episodes=6")]
    for episodes in (12, 24, 36):
        if codes[-1] == UNDECIDED:
            codes.append(coin.pytest("run", "--vla-gate", "--vla-resume", f"--vla-episodes={episodes}"))
    return codes


def killed_and_merged(coin: Coin) -> list[int]:
    """Killed half way, merged and judged; then finished, merged and judged."""
    coin.pytest("run", kill=15 + crc32(coin.salt.encode()) % 30)
    coin.command("merge", "run", "-o", "half")
    codes = [coin.command("gate", "half")]
    coin.pytest("run", "--vla-resume")
    coin.command("merge", "run", "-o", "whole")
    return [*codes, coin.command("gate", "whole")]


MODES: tuple[Callable[[Coin], list[int]], ...] = (
    fixed,
    early_stop_pooled,
    sharded_and_merged,
    resumed,
    killed_and_merged,
)


def is_wrong(mode: Callable[[Coin], list[int]], rate: float, salt: str, wrong: int, warm: Warm) -> bool:
    """Whether this coin, gated in this mode, got the wrong verdict at any time."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SUITE, Path(folder) / "test_coins.py")
        (Path(folder) / "pyproject.toml").write_text(GATE)
        return wrong in mode(Coin(Path(folder), rate, salt, warm))


@dataclass
class Crew:
    """A process that forks for each core; whoever has a command takes one that is free."""

    free: SimpleQueue[Warm]

    @classmethod
    def of(cls, count: int) -> Crew:
        crew = cls(SimpleQueue())
        for _ in range(count):
            crew.free.put(Warm())
        return crew

    def is_wrong(self, mode: Callable[[Coin], list[int]], rate: float, salt: str, wrong: int) -> bool:
        warm = self.free.get()
        try:
            return is_wrong(mode, rate, salt, wrong, warm)
        finally:
            self.free.put(warm)

    def close(self) -> None:
        while not self.free.empty():
            self.free.get().close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 coins a mode and side instead of 200")
    parser.add_argument("--times", type=int, default=200, metavar="N", help="coins a mode and side (default: 200)")
    parser.add_argument("--seed", default=str(time.time_ns()), help="of the salts (default: another one each time)")
    options = parser.parse_args()
    times = 2 if options.quick else options.times
    start, rates = time.monotonic(), []
    cores = os.cpu_count() or 1
    crew = Crew.of(cores)
    with closing(crew), ThreadPoolExecutor(cores) as pool:
        for mode in MODES:
            for rate, wrong, name in ((LOW, PASS, "false pass"), (HIGH, FAIL, "false fail")):
                salts = [f"{options.seed} {mode.__name__} {name} {number}" for number in range(times)]
                found = pool.map(lambda salt: crew.is_wrong(mode, rate, salt, wrong), salts)  # noqa: B023
                rates.append(ErrorRate(f"{mode.__name__.replace('_', ' ')}: {name}", sum(found), times))
                print(f"  {rates[-1]}", flush=True)
    figures = {
        "name": "gate_e2e",
        "times": times,
        "seed": options.seed,
        "worst_error": max(rate.rate for rate in rates),
        "seconds": round(time.monotonic() - start, 1),
        "target": "false verdicts not above 5% (p > 0.01) in five modes by typed commands",
        "ok": all(rate.ok for rate in rates),
    }
    print(json.dumps(figures))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
