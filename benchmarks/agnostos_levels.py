"""Several trainings of one policy as the paper reports them: `python -m benchmarks.agnostos_levels RUN RUN ...`

For each level the mean over its tasks, and of that the mean and the spread (ddof 0) over the runs, one a seed; beside
it the interval of all episodes, and a table of tasks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, pstdev

from pytest_vla.run import Tally, read_run

LEVELS = ("seen", "unseen_level1", "unseen_level2")
Tallies = dict[tuple[str, str], Tally]


def tallies_of(path: Path) -> Tallies:
    """By partition and task."""
    return {(cell.partition, cell.task): tally for cell, tally in read_run(path).once.tallies().items()}


def level_rows(runs: list[Tallies]) -> list[str]:
    rows = [
        "| level | tasks | mean, spread over runs | each run | all episodes, 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for level in LEVELS:
        means = [mean(t.rate or 0.0 for (where, _), t in run.items() if where == level) for run in runs]
        whole = sum((t for run in runs for (where, _), t in run.items() if where == level), Tally())
        low, high = whole.interval() or (0.0, 1.0)
        tasks = len({task for run in runs for where, task in run if where == level})
        rows.append(
            f"| `{level}` | {tasks} | {100 * mean(means):.1f} % ({100 * pstdev(means):.1f}) "
            f"| {', '.join(f'{100 * value:.1f}' for value in means)} "
            f"| {whole.solved} of {whole.measured} [{100 * low:.0f}, {100 * high:.0f}] |"
        )
    return rows


def task_rows(runs: list[Tallies]) -> list[str]:
    rows = ["| task | level | solved | 95 % interval |", "|---|---|---|---|"]
    for level, task in dict.fromkeys(cell for run in runs for cell in run):
        whole = sum((run[level, task] for run in runs if (level, task) in run), Tally())
        low, high = whole.interval() or (0.0, 1.0)
        rows.append(f"| {task} | {level} | {whole.solved} of {whole.measured} | [{100 * low:.0f}, {100 * high:.0f}] |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    runs = [tallies_of(path) for path in parser.parse_args().runs]
    print("\n".join([*level_rows(runs), "", *task_rows(runs)]))


if __name__ == "__main__":
    main()
