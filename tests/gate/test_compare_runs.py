"""`pytest-vla compare`: side by side, with what changed and how to see it again."""

import json
from pathlib import Path

import pytest
from gate_records import records

from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.side_by_side import describe, differences, flips, rows, to_dict
from pytest_vla.run import Run, Table


def run(*groups):
    policy = {"text": "p", "digest": "sha"}
    return Run(Path("run.jsonl"), {"type": "run", "policy": policy}, Table.of(one for group in groups for one in group))


OLD = run(records("." * 40), records("." * 30 + "u" * 10, partition="L2"))
NEW = run(records("." * 40), records("u" * 30 + "." * 10, partition="L2"))


def test_a_real_difference_is_marked_and_chance_is_not():
    same, worse, pooled = differences(OLD, NEW)
    assert str(pooled.group) == "dice/*/*"
    assert pooled.sample.effect() == -0.25
    assert same.pvalue == 1.0
    assert worse.pvalue < 0.05
    assert worse.sample.effect() == -0.5


def test_flips_are_listed_in_both_directions():
    found = flips(OLD, NEW)
    assert [flip.lost for flip in found] == [True] * 30 + [False] * 10


def test_an_error_is_no_flip_and_another_scene_is_not_either():
    assert flips(run(records("..")), run(records("E."))) == []
    assert flips(run(records("..")), run(records("uu", initial_digest="moved"))) == []


def test_the_text_has_rates_differences_gap_flips_and_replay_commands():
    text = describe([OLD, NEW], ["old", "new"], most_flips=1)
    for part in (
        "100.0% [91, 100] n=40",
        "75.0% [60, 86] n=40",
        "-50.0 [",
        "* paired",
        "dice/*/*",
        "87.5% [78, 93] n=80",
        "corrected for all 3 that are shown (Holm)",
        "L2      -25.0   -75.0",
        "30 lost, 10 gained",
        "pytest-vla replay old dice/push-L2-00",
        "pytest-vla replay new dice/push-L2-30",
        "and 29 more lost: --flips=30 shows all",
    ):
        assert part in text, part


def test_three_runs_are_all_compared_with_the_first():
    text = describe([OLD, NEW, OLD], ["a", "b", "c"])
    assert "B - A" in text
    assert "C - A" in text
    assert "flips from A to C: 0 lost, 0 gained" in text


def test_a_cell_only_one_run_has_is_shown_without_a_difference():
    text = describe([OLD, run(records(".."))], ["old", "new"])
    (line,) = [line for line in text.splitlines() if line.startswith("dice/push/L2")]
    assert line.split()[-2:] == ["-", "-"]


def test_unpaired_comparisons_say_why():
    text = describe([run(records("." * 20)), run(records("." * 20, initial_digest="moved"))], ["a", "b"])
    assert "unpaired: 20 of 20 scenes differ" in text


def test_other_suite_versions_do_not_compare():
    with pytest.raises(GateError, match="version 1 of suite 'dice'"):
        describe([OLD, run(records("..", version="2"))], ["old", "new"])


def test_a_pooled_row_is_of_the_cells_that_all_runs_have():
    more = run(records("." * 40), records("u" * 40, task="lift"))
    (pooled,) = [
        row for row in rows([more, run(records("." * 40), records("." * 40, task="lift"))]) if "*" in row.group
    ]
    assert [tally.measured for tally in pooled.tallies] == [80, 80]
    assert pooled.differences[0].sample.effect() == 0.5
    assert not [row for row in rows([more, run(records("." * 40))]) if "*" in row.group]


@pytest.mark.parametrize(("sort", "first"), [("name", "L1"), ("success", "L2"), ("difference", "L2")])
def test_rows_are_sorted_as_asked(sort, first):
    assert rows([OLD, NEW], sort)[0].group.partition == first


def test_the_comparison_as_data_says_what_the_text_says():
    data = json.loads(json.dumps(to_dict([OLD, NEW], ["old", "new"])))
    assert [row["task"] + "/" + row["partition"] for row in data["rows"]] == ["push/L1", "push/L2", "*/*"]
    assert data["rows"][1]["differences"][0]["difference"] == -0.5
    assert data["rows"][2]["runs"][1]["success"] == 50 / 80
    assert data["gaps"][1]["dice"][1] == {"partition": "L2", "gap": -0.75}
    assert len(data["flips"][0]) == 40


def test_the_gap_of_the_page_is_the_gap_of_the_comparison():
    from pytest_vla.report.html.success import levels

    page = levels(NEW.table)["dice"][1]
    assert f"{100 * page.gap:+.1f}" == "-75.0"
    (line,) = [line for line in describe([OLD, NEW], ["old", "new"]).splitlines() if line.split()[:2] == ["dice", "L2"]]
    assert line.split()[2:] == ["-25.0", "-75.0"]


def test_runs_of_two_versions_of_a_simulator_name_both():
    old, new = (run(records("." * 20, made_with={"simulator": f"mujoco-{v}"})) for v in ("3.8.1", "4.0.0"))
    text = describe([old, new], ["old", "new"])
    assert "unpaired: the baseline was made with simulator mujoco-3.8.1, this run with mujoco-4.0.0" in text
