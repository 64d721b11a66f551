"""The chains of CALVIN's protocol, drawn by our own code; the official list is not needed to know that they are it."""

import hashlib
import json

import pytest
from pytest_vla.suites.calvin import chains

from pytest_vla.registry import get_suite

FIRST = 12
SHA256_OF_FIRST = "e700ffb155a37275d6fc094a4dbff2679eff3107284ca3a9e23aad1312cfc067"


def test_the_first_chains_are_the_official_ones():
    rows = [[list(each.tasks), [round(value, 8) for value in each.scene]] for each in map(chains.chain, range(FIRST))]
    assert hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest() == SHA256_OF_FIRST


@pytest.mark.proof
def test_all_chains_and_scenes_are_the_official_ones():
    assert chains.fingerprint() == chains.SHA256


def test_scenes_are_seeded_by_the_hash_of_pyhash_not_by_the_usual_one():
    """pyfasthash's own vector for this text; the usual FNV-1 of it is 0xbc2c0be9."""
    assert chains.fnv1_32("test") == 3910690890


def test_a_chain_can_be_done_and_its_tasks_are_of_five_kinds():
    for index in range(FIRST):
        found = chains.chain(index)
        assert chains.is_chain(found.state, found.tasks)
        assert len({chains.CATEGORIES[task] for task in found.tasks}) == chains.LENGTH


def test_a_task_of_which_two_readings_are_possible_is_in_no_chain():
    """Two blocks could be pushed: which one is meant, nobody could know."""
    state = {**chains.initial_states()[0], "drawer": "open", "grasped": 0, "red_block": "table"}
    alone = {**state, "blue_block": "slider_left", "pink_block": "slider_right"}
    assert len(chains.follow(alone, "push_into_drawer")) == 1
    assert not chains.follow({**alone, "blue_block": "table"}, "push_into_drawer")


def test_after_the_last_chain_the_first_one_comes_again():
    assert chains.chain(chains.CHAINS) == chains.chain(0)


def test_the_suite_gives_a_world_the_chain_of_its_episode():
    suite = get_suite("calvin")
    told = suite.describe(suite.episode("chain", "abc_d", 3))
    assert told["index"] == 3
    assert told["chain"]["tasks"] == list(chains.chain(3).tasks)
    assert len(told["chain"]["scene"]) == 24
    assert len(told["chain"]["robot"]) == 15
    assert suite.step_limit("chain") == 5 * 360
