"""With `-n` items are made when they are handed out, and nothing that a person sees is different for it."""

from __future__ import annotations

import re

import pytest

SHOW = """
import pytest

def pytest_runtest_setup(item):
    made = type(item.session.items).__name__
    with open("made.txt", "a") as file:
        print(made, item.name, item.callspec.id, item.callspec.params["episode"].id, sep=" | ", file=file)
"""


def made(reach, *options):
    """How the items of a run were made, and their names."""
    reach.makepyfile(show=SHOW)
    (reach.path / "made.txt").unlink(missing_ok=True)
    result = reach.runpytest_subprocess("-p", "show", "--vla-policy=oracle", "-n2", "--vla-episodes=6", *options)
    rows = [line.split(" | ") for line in (reach.path / "made.txt").read_text().splitlines()]
    assert all(f"test_reach[{row[2]}]" == row[1] and row[2] == row[3] for row in rows)
    return {row[0] for row in rows}, sorted(row[1] for row in rows), result


def test_items_that_nobody_looks_at_are_made_when_they_run(reach):
    how, names, result = made(reach)
    again, same, _ = made(reach, "--dist=load")
    assert (how, again) == ({"Unmade"}, {"list"})
    assert names == same
    result.stdout.fnmatch_lines([f"*2 workers [[]{len(names)} items[]]*"])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [(["-k", "near and 03"], "near.*-03"), (["test_reach.py::test_reach[near-calm-02]"], "near-calm-02")],
)
def test_what_is_chosen_by_name_is_what_runs(reach, options, wanted):
    _, names, _ = made(reach, *options)
    assert names
    assert all(re.search(wanted, name) for name in names)


def test_a_conftest_that_looks_at_all_items_sees_them(reach):
    reach.makeconftest("def pytest_collection_modifyitems(items):\n    del items[3:]\n")
    how, names, _ = made(reach)
    assert (how, len(names)) == ({"list"}, 3)


def test_an_episode_whose_worker_was_lost_is_run_again_and_recorded_once(reach, read_episodes):
    reach.makeconftest(
        """
        import os, pathlib, signal
        def pytest_runtest_call(item):
            if "near-calm-01" in item.nodeid and not pathlib.Path("died").exists():
                pathlib.Path("died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    result = reach.runpytest_subprocess("--vla-policy=oracle", "-n2", "--vla-run-dir=run", "--vla-episodes=4")
    assert (reach.path / "died").exists()
    assert result.ret == 0
    episodes = read_episodes(reach.path / "run")
    assert {each["outcome"] for each in episodes.values()} == {"solved"}
    lines = (reach.path / "run" / "run.jsonl").read_text().splitlines()
    assert sum('"type": "episode"' in line for line in lines) == len(episodes)
