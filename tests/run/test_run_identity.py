"""Which policy a run is about."""

from dataclasses import replace

import pytest

from pytest_vla.run import Identity

ONE = Identity("ckpt.pt", "sha256:1", verified=True, horizon=4, ensemble="newest", batch=None)


def test_a_policy_is_itself():
    assert ONE.difference(ONE) is None
    assert ONE.difference(replace(ONE, text="moved/ckpt.pt")) is None


@pytest.mark.parametrize("change", [{"digest": "sha256:2"}, {"horizon": 1}, {"ensemble": "mean"}, {"batch": 8}])
def test_other_content_or_another_way_of_asking_is_another_policy(change):
    assert ONE.difference(replace(ONE, **change))
    assert replace(ONE, **change).difference(ONE)


def test_the_difference_says_what_it_is():
    assert "horizon 4, this is at 1" in ONE.difference(replace(ONE, horizon=1))
    assert "deterministic batch none, this is at 8" in ONE.difference(replace(ONE, batch=8))
    assert "sha256:2" in ONE.difference(replace(ONE, digest="sha256:2"))


def test_what_an_older_file_does_not_say_is_not_held_against_it():
    older = Identity.from_provenance({"policy": {"text": "ckpt.pt", "digest": "sha256:1"}})
    assert older.difference(ONE) is None
    assert ONE.difference(older) is None


def test_it_reads_back_from_the_provenance():
    assert Identity.from_provenance({"policy": ONE.to_dict()}) == ONE
    for broken in ({}, {"policy": None}, {"policy": "p"}):
        assert Identity.from_provenance(broken).text == "unknown"


def test_it_says_that_it_is_unverified():
    assert "unverified" not in str(ONE)
    assert str(replace(ONE, verified=False)) == "ckpt.pt (sha256:1), unverified"
    assert str(Identity("oracle", "builtin:oracle:0.1.0", verified=True)) == "oracle"


def test_how_a_model_computes_is_said_beside_its_content():
    digest = "sha256:0123456789abcdef0123456789abcdef"
    assert str(Identity("net.pt", digest)) == "net.pt (sha256:0123456789ab)"
    assert str(Identity("net.pt", f"{digest}+bfloat16+compiled")) == "net.pt (sha256:0123456789ab+bfloat16+compiled)"
