"""`pytest-vla explain`: why a policy did what it did in one episode of a run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_vla.command import RUN_HELP, Command, ask_for_trust, share, whole
from pytest_vla.explain.fills import FILLS


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", type=Path, metavar="RUN", help=RUN_HELP)
    parser.add_argument("episode", metavar="EPISODE", help="a pytest node id, or SUITE/TASK-PARTITION-INDEX")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--step", type=whole(), metavar="N", help="the step to explain (default: 0)")
    when.add_argument("--steps", metavar="WHICH", help="all steps at which the policy looked, or N of them")
    share(parser, "policy", help="the policy to ask (default with --trust: the run's own)")
    share(parser, "trust-policy")
    ask_for_trust(parser)
    parser.add_argument(
        "--fill", choices=FILLS, default="mean", help="what hides a patch (default: %(default)s colour)"
    )
    parser.add_argument("--patch", type=whole(1), default=0, metavar="PX", help="one plain grid of such patches")
    parser.add_argument("--stride", type=whole(1), default=0, metavar="PX", help="with --patch: from one to the next")
    parser.add_argument(
        "--rows", type=whole(1), default=0, metavar="N", help="patches to ask about a step (default: 900)"
    )
    parser.add_argument(
        "--units",
        nargs="?",
        const="",
        metavar="GLOBS",
        help="patch activations: layers, heads and MLPs, or the modules that these names (separated by commas) match",
    )
    parser.add_argument("--play", action="store_true", help="rerun it with masks held, and draw the gripper's ways")
    parser.add_argument(
        "--mask", action="append", default=[], metavar="TEXT", help="with --play: hide these words (may be repeated)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where pictures and film go (default: explain/ beside the run)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write what was measured as data (-: to the terminal)"
    )


def _explain(options: argparse.Namespace) -> int:
    from pytest_vla.explain.episodes import explain_episode
    from pytest_vla.explain.maps import ROWS
    from pytest_vla.explain.moment import Wishes
    from pytest_vla.explain.play import check_masks, masks_of, play
    from pytest_vla.explain.records import lines
    from pytest_vla.explain.session import policy_of
    from pytest_vla.explain.written import FOLDER, write_episode
    from pytest_vla.options import shown_path
    from pytest_vla.policies.trust import trust
    from pytest_vla.replay import Replayer, find_episode
    from pytest_vla.run import read_run

    wanted = _wanted(options)
    wishes = Wishes(options.fill, options.patch, options.stride, options.rows or ROWS, _globs(options.units))
    trust(options.trust_policy or ())
    run = read_run(options.run_file)
    record = find_episode(run, options.episode)
    check_masks(record, options.mask)
    with (
        Replayer(run, options.policy, trust=options.trust) as replayer,
        policy_of(run, options.policy, options.trust) as source,
    ):
        made = explain_episode(source, replayer, record, wanted, wishes, _tell)
        masks = masks_of(made, options.mask) if options.play or options.mask else []
        played = play(source, replayer, record, masks, made.recording.cameras, _tell)
    folder = options.output or run.path.parent / FOLDER
    written = write_episode(made, folder, played)
    as_data = json.dumps(written, indent=1, ensure_ascii=False)
    if options.json is not None and str(options.json) != "-":
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_data + "\n", encoding="utf-8")
    if str(options.json) == "-":
        print(as_data)
        return 0
    print(*lines(made), *(f"played, {each['mask']}: {each['outcome']}" for each in played), sep="\n")
    print(f"pictures in {shown_path(folder)}/: {', '.join(each['file'] for each in written['pictures'])}")
    return 0


def _wanted(options: argparse.Namespace) -> str | int:
    from pytest_vla.explain.errors import ExplainError

    if options.steps is None:
        return int(options.step or 0)
    if options.steps != "all" and not (options.steps.isdecimal() and int(options.steps)):
        raise ExplainError(f"--steps must be all or a number of steps, got {options.steps!r}")
    return str(options.steps)


def _globs(typed: str | None) -> tuple[str, ...] | None:
    return None if typed is None else tuple(filter(None, typed.split(",")))


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


COMMANDS = (
    Command(
        "explain",
        "look at a run",
        "say why a policy did what it did: which pixels, words, inputs and activations an action hangs on",
        _arguments,
        _explain,
        description=(
            "Simulates an episode of a run once more and asks the policy, at the moments when it looked, what it would "
            "have done with a part of its inputs hidden or swapped; every effect is held against chance."
        ),
    ),
)
