"""A run as one comment on a pull request: verdict, levels and flips, with the numbers that the terminal shows."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_vla.gate.baseline import SNAPSHOT_SUFFIX
from pytest_vla.gate.commands import readable
from pytest_vla.gate.judge import judge_run
from pytest_vla.gate.printing import markdown as verdict_markdown
from pytest_vla.gate.side_by_side import Flip, flips
from pytest_vla.report.exports import markdown, markdown_table, plain
from pytest_vla.report.summary import partition_rows
from pytest_vla.run import Run, run_path

MOST_LETTERS = 60_000
"""GitHub takes 65,536 in a comment."""
LEFT_OUT = "\nThe rest does not fit into a comment: the terminal and the page have it.\n"


def marker(name: str = "") -> str:
    """The first line of the comment, which no reader sees: by it the same comment is found again."""
    return f"<!-- pytest-vla {name} -->" if name else "<!-- pytest-vla -->"


def comment(
    run: Run,
    baseline: str | None = None,
    anchor: str | None = None,
    link: str | None = None,
    name: str = "",
    most: int = 10,
    *,
    trust: bool = False,
) -> str:
    """The comment as Markdown.

    Args:
        baseline: a run, or the table of a snapshot, that the run was or is judged against.
        anchor: a release that it was judged against as well.
        link: where the page of the run is.
        name: tells several comments on one pull request apart.
        most: how many flipped episodes are listed of each kind.
        trust: open the baseline that the run file names.
    """
    parts = [_verdict(run, baseline, anchor, trust), _levels(run)]
    named = baseline or (run.options.get("baseline") if trust else None)
    if named is not None and run_path(named).suffix != SNAPSHOT_SUFFIX:
        parts.append(_flips(flips(readable(named), run), most))
    if link is not None:
        parts.append(f"[The page of this run]({link}): films, failures, what to replay.\n")
    parts.append(f"<details><summary>Every task</summary>\n\n{markdown(run)}\n</details>\n")
    return _fitting([f"{marker(name)}\n", *parts])


def _verdict(run: Run, baseline: str | None, anchor: str | None, trust: bool) -> str:
    """What the gate says; where there was none, how many episodes were solved."""
    if baseline is not None or run.of_type("gate"):
        return verdict_markdown(judge_run(run, baseline, anchor=anchor, trust=trust))
    tally = run.once.tally()
    rate, interval, measured, _ = tally.texts()
    completeness = run.completeness(gated=False)
    missing = "" if completeness.finished else f", {completeness}"
    headline = f"### vla: {rate} {interval} of {measured} episodes solved, {tally.errors} errors{missing}"
    return f"{headline}\n\nNo gate: add a baseline or thresholds.\n"


def _levels(run: Run) -> str:
    return "\n".join(markdown_table(partition_rows(run.once))) + "\n"


def _flips(found: Sequence[Flip], most: int) -> str:
    """As `pytest-vla compare` counts and orders them."""
    kinds = {"lost": [flip for flip in found if flip.lost], "gained": [flip for flip in found if not flip.lost]}
    lines = [f"Flips against the baseline: {len(kinds['lost'])} lost, {len(kinds['gained'])} gained", ""]
    for kind, group in kinds.items():
        lines += [
            f"- {kind}: {plain(flip.episode.cell)} {flip.episode.index} ({plain(flip.reason)})" for flip in group[:most]
        ]
        lines += [f"- and {len(group) - most} more {kind}"] * (len(group) > most)
    return "\n".join(lines).rstrip() + "\n"


def _fitting(parts: Sequence[str]) -> str:
    """The parts as far as they fit, whole ones; only a first table that is longer than all is cut between two rows."""
    text = ""
    for part in parts:
        longer = f"{text}\n{part}" if text else part
        if len(longer) > MOST_LETTERS:
            if text.count("\n") <= 1:
                text = longer[: longer.rindex("\n", 0, MOST_LETTERS) + 1]
            return text + LEFT_OUT
        text = longer
    return text
