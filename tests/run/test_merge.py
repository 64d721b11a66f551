"""Several run files as one: nothing is lost, and nothing is laundered."""

import json

import pytest
from made_up_runs import FIRST, episode, plan, write

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.run import HuntRecord, KeySet, Record, RunFileError, Unrun, read_run
from pytest_vla.run.merge import merge_runs

END = {"type": "end"}


@pytest.fixture
def merged(tmp_path):
    def merge(*files):
        runs = [read_run(write(tmp_path / str(number), *lines)) for number, lines in enumerate(files)]
        merge_runs(runs, tmp_path / "all" / "run.jsonl")
        return read_run(tmp_path / "all")

    return merge


def shard(*indices, whole=4):
    part = KeySet.of(episode(index).key for index in indices)
    line = plan(whole).to_record()
    return {**line, "keys": part.to_list(), "whole": line["keys"]}


def test_shards_make_the_whole(merged):
    run = merged([shard(0, 2), episode(0), episode(2), END], [shard(1, 3), episode(1), episode(3), END])
    assert [record.key.index for record in run.records()] == [0, 1, 2, 3]
    assert run.completeness(gated=True).finished
    assert run.ended


def test_a_missing_shard_is_missing(merged):
    run = merged([shard(0, 2), episode(0), episode(2), END])
    assert str(run.completeness(gated=True)) == "incomplete: 2 of 4 episodes"


def test_a_cut_file_stays_cut(merged):
    run = merged([shard(0, 2), episode(0)], [shard(1, 3), episode(1), episode(3), END])
    assert str(run.completeness(gated=False)) == "incomplete: 3 of 4 episodes"
    assert not run.ended


def test_an_older_file_that_was_cut_is_refused(tmp_path, merged):
    with pytest.raises(RunFileError, match="unfinished"):
        merged([{"type": "plan", "episodes": 5}, episode(0)])
    assert not (tmp_path / "all").exists()


def test_older_finished_files_merge(merged):
    run = merged([{"type": "plan", "episodes": 1}, episode(0), END], [episode(1), END])
    assert run.completeness(gated=True).finished
    assert len(run) == 2


def test_hunts_probes_verdicts_excuses_and_failures_are_kept(merged):
    probe = Record(Result(EpisodeKey("dice", "push", "L1", 5, "camera.yaw=3"), "unsolved", "step_limit"), kind="probe")
    hunt = HuntRecord("dice", "push", "L1")
    excuse = Unrun("decided", "so", KeySet.of([episode(9).key]))
    verdict = {"type": "verdict", "verdict": "pass"}
    gate = {"type": "gate", "cells": []}
    run = merged([plan(1), episode(0), probe, hunt, excuse, verdict, gate], [plan(1), episode(0)])
    assert [record.key for record in run.probes()] == [probe.key]
    assert run.hunts == (hunt,)
    assert run.unrun == (excuse,)
    assert (run.of_type("verdict"), run.of_type("gate")) == ([verdict], [gate])


def test_each_run_keeps_its_own_options(tmp_path):
    runs = [
        read_run(
            write(
                tmp_path / name, plan(1), episode(0), first={**FIRST, "command": ["pytest"], "options": {"shard": name}}
            )
        )
        for name in ("a", "b")
    ]
    merge_runs(runs, tmp_path / "all.jsonl")
    merged = read_run(tmp_path / "all.jsonl").provenance["merged"]
    assert [one["options"]["shard"] for one in merged] == ["a", "b"]
    assert [one["command"] for one in merged] == [["pytest"], ["pytest"]]


def test_an_error_gives_way_to_a_measurement_in_either_order(merged, tmp_path):
    lost, solved = [plan(1), episode(0, "error", "worker_lost")], [plan(1), episode(0)]
    assert merged(lost, solved).once.tally().solved == 1
    (tmp_path / "all" / "run.jsonl").unlink()
    assert merged(solved, lost).once.tally().solved == 1


def test_two_outcomes_of_one_key_are_refused(merged):
    with pytest.raises(RunFileError, match="the same key must give the same outcome"):
        merged([plan(1), episode(0)], [plan(1), episode(0, "unsolved", "step_limit")])


def test_two_versions_of_a_suite_are_refused(merged):
    with pytest.raises(RunFileError, match="has version 1 in one run and 2"):
        merged([plan(1), episode(0)], [plan(2), episode(1, version="2")])


@pytest.mark.parametrize("change", [{"digest": "sha256:2"}, {"horizon": 4}])
def test_two_policies_are_refused(tmp_path, change):
    first = {**FIRST, "policy": {**FIRST["policy"], **change}}
    runs = [
        read_run(write(tmp_path / "a", plan(1), episode(0))),
        read_run(write(tmp_path / "b", plan(1), episode(0), first=first)),
    ]
    with pytest.raises(RunFileError, match="different policies"):
        merge_runs(runs, tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()


@pytest.mark.parametrize("reason", ["timeout", "policy_error"])
def test_the_policy_s_own_error_stays_before_what_replaces_it(merged, reason):
    run = merged([plan(1), episode(0, "error", reason)], [plan(1), episode(0)])
    kept = [json.loads(line) for line in run.path.read_text().splitlines() if '"type": "episode"' in line]
    assert [line["reason"] for line in kept] == [reason, None]


def test_an_error_that_nothing_replaces_is_there_once(merged):
    run = merged([plan(2), episode(0, "error", "timeout")], [plan(2), episode(1)])
    assert run.path.read_text().count('"type": "episode"') == 2


def test_the_machine_s_error_is_gone(merged):
    run = merged([plan(1), episode(0, "error", "env_error")], [plan(1), episode(0)])
    assert run.path.read_text().count('"type": "episode"') == 1


def test_a_merged_file_says_what_its_parts_were_and_how_many_episodes_it_has(tmp_path):
    about = {"created": "2026-01-01", "options": {"shard": "1/2"}, "command": "pytest", "commit": "c", "platform": "p"}
    parts = [
        read_run(write(tmp_path / str(number), plan(2), episode(number), END, first={**FIRST, **about, "host": "h"}))
        for number in (0, 1)
    ]
    assert merge_runs(parts, tmp_path / "all" / "run.jsonl") == 2
    run = read_run(tmp_path / "all")
    assert run.provenance["merged"] == [{"path": str(part.path), **about} for part in parts]
    assert run.of_type("end") == [{"type": "end", "episodes": 2}]
