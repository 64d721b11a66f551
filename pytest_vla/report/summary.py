"""What a person sees after a run: every rate with its interval and its number of episodes, and what is not in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_vla.answers.overview import answer_lines
from pytest_vla.episode import Cell, EpisodeKey
from pytest_vla.options import shown_path
from pytest_vla.registry import takes_trust
from pytest_vla.report.groups import grouped
from pytest_vla.report.order import ordered, suite_order
from pytest_vla.report.published import published_lines
from pytest_vla.report.score import scores
from pytest_vla.run import Record, Run, Table, replay_command, sum_by
from pytest_vla.run.pair import UNSEEDED
from pytest_vla.run.record import alike, gist
from pytest_vla.run.table import OUTCOMES, UNSOLVED

if TYPE_CHECKING:
    import pytest

LOG_WIDTH = 160
NAMED_OBJECTIONS = 5
NAMED_MESSAGES, READ_MESSAGES, LONGEST_GIST = 3, 1000, 120
MARK = "*"  # at a suite whose results are not comparable with published ones; a line below says why
TABLE_HEADER = ("suite/task", "partition", "success", "95% CI", "n", "errors")

Row = tuple[str, ...]


def write_summary(
    reporter: pytest.TerminalReporter, run: Run, *, skipped: Mapping[str, int] | None = None, speed: float | None
) -> None:
    """Print what a person wants to know after a run; `skipped` counts by reason what its file does not know of."""
    lines = [f"skipped {count}: {reason}" for reason, count in (skipped or {}).items()] + _skipped(run)
    if not len(run) and not lines:
        return
    reporter.section("vla results")
    for line in lines:
        reporter.line(line, yellow=True)
    if not len(run):
        return
    writer = reporter._tw
    width = writer.fullwidth if reporter.isatty else LOG_WIDTH
    for line in summary_lines(run, speed=speed, width=width, color=bool(writer.hasmarkup)):
        reporter.line(line)


def describe_run(run: Run, sort: str = "suite") -> str:
    """A run read back from its file, as `pytest-vla show` prints it: also what is damaged."""
    lines = [f"policy {run.policy}, made {run.provenance.get('created')}"]
    lines += [f"line {number} is damaged and left out: {problem}" for number, problem in run.damaged]
    lines += _skipped(run)
    if not len(run):
        return "\n".join([*lines, *_incomplete(run), *(["no episode was finished"] * (not run.hunts))])
    return "\n".join([*lines, "", *summary_lines(run, sort=sort), *published_lines(run)])


def summary_lines(
    run: Run, *, speed: float | None = None, width: int = LOG_WIDTH, color: bool = False, sort: str = "suite"
) -> list[str]:
    """The whole summary of a run as text; a repeated episode is not a second one."""
    table = run.once
    tally = table.tally()
    totals = [*partition_rows(table), *group_rows(table)]
    lines = render_table(summary_rows(table, sort), totals, width, color).splitlines()
    if any(cell.perturbation for cell in table.cells):
        from pytest_vla.perturb.summary import perturbation_lines

        lines += perturbation_lines(table)
    lines += answer_lines(run)
    pace = f", {speed:.2f} episodes/s" if speed else ""
    lines += ["", f"{tally.solved} of {tally.measured} episodes solved, {tally.errors} errors{pace}"]
    lines += map(str, scores(run))
    for outcome, title in (("error", "errors"), ("unsolved", "unsolved")):
        reasons = table.reason_counts(outcome)
        if reasons:
            lines.append(f"{title}: " + ", ".join(f"{count} {reason}" for reason, count in reasons.items()))
            lines += _said_most(run, outcome)
    lines += [
        *objection_lines(run),
        *_not_needed(run),
        *_incomplete(run),
        *_unverified(run),
        *_leaked(run),
        *_unseeded(run),
        *incomparable_lines(run),
    ]
    run_file = shown_path(run.path)
    lines += [f"run file: {run_file}", *_first_unsolved(run, table)]
    return [line.rstrip() for line in lines]


def summary_rows(table: Table, sort: str = "suite") -> list[Row]:
    """One row of the table per cell, in the order of the suites, or by success, the worst first."""
    tallies, marked = ordered(table.tallies()), table.incomparable()
    if sort == "success":
        tallies = dict(sorted(tallies.items(), key=lambda item: 2.0 if item[1].rate is None else item[1].rate))
    return [
        (f"{cell.suite}{MARK * (cell.suite in marked)}/{cell.task}", _level(cell), *tally.texts())
        for cell, tally in tallies.items()
    ]


def partition_rows(table: Table) -> list[Row]:
    """One row per suite and partition, pooled over its tasks."""
    pooled = sum_by(ordered(table.tallies()), lambda cell: (cell.suite, _level(cell)))
    marked = table.incomparable()
    return [(f"{suite}{MARK * (suite in marked)}", level, *tally.texts()) for (suite, level), tally in pooled.items()]


def group_rows(table: Table) -> list[Row]:
    """One row per group of a suite's tasks, over all levels; none where only one group was run."""
    pooled = sum_by(grouped(ordered(table.tallies())), lambda cell: (cell.suite, cell.task))
    several = {suite for suite, _ in pooled if sum(other == suite for other, _ in pooled) > 1}
    return [(suite, group, *tally.texts()) for (suite, group), tally in pooled.items() if suite in several]


def _level(cell: Cell) -> str:
    return f"{cell.partition} {cell.perturbation}".rstrip()


def objection_lines(run: Run) -> list[str]:
    """Tests that failed for reasons of their own, which no rate shows."""
    lines = []
    rows = run.table.objected.nonzero()[0].tolist()
    if rows:
        whose = "its episode was" if len(rows) == 1 else "their episodes were"
        lines.append(f"{_counted(len(rows), 'test')} failed although {whose} solved:")
        for record in run.records(rows[:NAMED_OBJECTIONS]):
            lines.append(f"  {record.nodeid or record.key}: {_first_line(record.objection)}")
        lines += _more(len(rows))
    if run.failures:
        lines.append(f"{_counted(len(run.failures), 'failure')} that no episode explains:")
        for failure in run.failures[:NAMED_OBJECTIONS]:
            lines.append(f"  {failure.nodeid} ({failure.when}): {_first_line(failure.message)}")
        lines += _more(len(run.failures))
    return lines


def _said_most(run: Run, outcome: str) -> list[str]:
    """What most of these episodes say, equal messages together, each with the command that shows the first of them."""
    rows = (run.table.outcome == OUTCOMES.index(outcome)).nonzero()[0][:READ_MESSAGES].tolist()
    groups: dict[str, list[Record]] = {}
    for record in run.records(rows):
        if record.result.message and not record.key.repeat:
            groups.setdefault(alike(record.result.message), []).append(record)
    most = sorted(groups.values(), key=len, reverse=True)[:NAMED_MESSAGES]
    lines = []
    for group in most:
        text = gist(group[0].result.message)
        lines.append(f"  {len(group)} x {text if len(text) <= LONGEST_GIST else text[:LONGEST_GIST] + ' ...'}")
        if outcome == "error":
            lines.append(f"    {_replay(run, group[0].key)}")
    return lines


def _more(count: int) -> list[str]:
    return [f"  and {count - NAMED_OBJECTIONS} more"] * (count > NAMED_OBJECTIONS)


def _skipped(run: Run) -> list[str]:
    """What could not run here."""
    return [f"skipped {len(each.keys)}: {each.message}" for each in run.unrun if each.why == "unavailable"]


def _not_needed(run: Run) -> list[str]:
    """What need not run any more."""
    spared = [each for each in run.unrun if each.why != "unavailable"]
    return [f"not run: {_counted(len(each.keys), 'episode')}, {each.message or each.why}" for each in spared]


def _incomplete(run: Run) -> list[str]:
    completeness = run.completeness(gated=False)
    return [] if completeness.finished else [f"{completeness}; go on with --vla-resume"]


def _unverified(run: Run) -> list[str]:
    if run.policy.verified is not False:
        return []
    return [f"unverified: what answers behind policy '{run.policy.text}' may change without its digest changing"]


def _leaked(run: Run) -> list[str]:
    return [f"leaked: the policy was trained on {', '.join(run.leaked)}, where it counts as unseen"] * bool(run.leaked)


def incomparable_lines(run: Run) -> list[str]:
    """Where rates look like those of a published benchmark and are not."""
    found = run.table.incomparable()
    return [f"{MARK} not comparable: {suite}: {remark}" for suite, remarks in found.items() for remark in remarks]


def _unseeded(run: Run) -> list[str]:
    """Suites whose scenes nobody can choose: their rates stand alone."""
    table = run.once
    seedless = [number for number, source in enumerate(table.sources) if UNSEEDED in source.made_with]
    rows = [row for row in range(len(table)) if table.source[row] in seedless] if seedless else []
    suites = sorted({table.key(row).suite for row in rows})
    return [f"{suite} takes no seed: its episodes are other ones in every run, and never pair" for suite in suites]


def _first_unsolved(run: Run, table: Table) -> list[str]:
    unsolved = table.where(table.outcome == UNSOLVED)
    if not len(unsolved):
        return []
    first = unsolved.arranged(suite_order(unsolved.cells)).key(0)
    return [f"replay the first unsolved episode: {_replay(run, first)}"]


def _replay(run: Run, key: EpisodeKey) -> str:
    return replay_command(shown_path(run.path), key, takes_trust(key.suite, run.policy.builtin))


def _first_line(text: str) -> str:
    """Of what an assertion says, its message; pytest adds how it came about."""
    return (text.strip().splitlines() or [""])[0].strip()


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def render_table(rows: Sequence[Row], totals: Sequence[Row], width: int, color: bool) -> str:
    """The rows as text of at most `width` columns where that is possible."""
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    fold = max(28, width // 3)
    rows, totals = ([(row[0], _folded(row[1], fold), *row[2:]) for row in block] for block in (rows, totals))
    for number, title in enumerate(TABLE_HEADER):
        numbers = number >= 2  # in a narrow window names are cut, numbers never
        longest = max(len(row[number]) for row in [(title,) * 6, *rows, *totals])
        table.add_column(
            title, no_wrap=True, justify="right" if numbers else "left", min_width=longest if numbers else None
        )
    for row in rows:
        table.add_row(*row)
    if len(rows) > 1:
        table.add_section()
        for row in totals:
            table.add_row(*row, style="bold")
    console = Console(
        file=StringIO(), width=max(width, 80), force_terminal=color, color_system="standard" if color else None
    )
    console.print(table)
    return console.file.getvalue().rstrip("\n")  # type: ignore[attr-defined, no-any-return]


def _folded(name: str, width: int) -> str:
    """A partition with many axes off neutral, in lines that leave room for the numbers."""
    from textwrap import wrap

    return name if len(name) <= width else "\n".join(wrap(name.replace(",", ", "), width, break_long_words=False))
