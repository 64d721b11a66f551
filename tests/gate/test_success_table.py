"""The readable baseline: what a person reviews is all a gate needs."""

import pytest
from gate_records import compare, judge, record, records, table

from pytest_vla.gate.baseline import TITLE, parse_table, read_baseline, render_table
from pytest_vla.gate.comparisons import Scope
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.rules import read_rules

RUN = records("..u.E") + records("uu.", task="stack", partition="L2")


def test_the_table_shows_solved_of_measured_per_task():
    lines = render_table(table(RUN)).splitlines()
    assert lines[0] == TITLE
    assert lines[2].split()[:6] == ["dice/push/L1", "1", "3", "4", "0", "..u.E"]
    assert lines[3].split()[:6] == ["dice/stack/L2", "1", "1", "3", "0", "uu."]


def test_a_table_reads_back_to_the_same_table():
    assert render_table(parse_table(render_table(table(RUN)))) == render_table(table(RUN))


def test_a_run_pairs_with_its_own_table():
    assert [c.sample.test for c in compare(RUN, read_rules({}), Scope(), parse_table(render_table(table(RUN))))] == [
        "paired"
    ] * 2


def test_a_run_from_other_scenes_does_not_pair_with_the_table():
    moved = records("." * 20, initial_digest="moved")
    (comparison,) = compare(moved, read_rules({}), Scope(), parse_table(render_table(table(records("." * 20)))))
    assert comparison.sample.test == "unpaired"


def test_a_gap_ends_the_line_of_a_cell():
    gap = [record(0), record(1), record(5, "unsolved")]
    assert len(parse_table(render_table(table(gap)))) == 2


def test_suites_without_digests_have_tables_too():
    bare = records("..u", initial_digest="")
    assert (
        judge(bare, read_rules({}), baseline=parse_table(render_table(table(bare)))).rows[0].comparison.sample.test
        == "paired"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a baseline table"),
        ("something else", "not a baseline table"),
        (f"{TITLE}\nheader\n", "is empty"),
        (f"{TITLE}\nheader\ndice/push/L1  1  3  3  0  ..u  -", "damaged in line 3"),
        (f"{TITLE}\nheader\ndice/push/L1  1  one  3  0  ..u  -", "damaged in line 3"),
        (f"{TITLE}\nheader\ndice/push/L1  1  0  0  0  EE  -", "is empty"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused(text, message):
    with pytest.raises(GateError, match=message):
        parse_table(text)


def test_a_table_file_is_a_baseline(tmp_path):
    path = tmp_path / "rates.baseline"
    path.write_text(render_table(table(RUN)))
    assert len(read_baseline(path)) == len(RUN)
