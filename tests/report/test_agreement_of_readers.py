"""One hard run, with repeats, perturbed episodes, errors and two renderers: all who show it give the same numbers."""

import csv
import json
import random
import re
from collections import Counter, defaultdict

import pytest

from pytest_vla.episode import Cell
from pytest_vla.report.exports import markdown, write_csv, write_parquet
from pytest_vla.report.html import build_report
from pytest_vla.report.html.comparison import comparison_view
from pytest_vla.report.html.episodes import episodes_view
from pytest_vla.report.html.page import Page, Side
from pytest_vla.report.html.success import success_view
from pytest_vla.report.html.verdict import overview
from pytest_vla.report.order import in_suite_order
from pytest_vla.report.running import RunningRates
from pytest_vla.report.summary import summary_lines, summary_rows
from pytest_vla.run import Tally, pair

TASKS, PARTITIONS, PERTURBATIONS = ("push", "turn"), ("seen", "unseen"), ("", "camera.yaw=3", "camera.yaw=6")


def hard_records(record_of, seed, renderers):
    draw = random.Random(seed)
    found = []
    for task in TASKS:
        for partition in PARTITIONS:
            for perturbation in PERTURBATIONS:
                for index in range(8):
                    for repeat in range(2):
                        outcome = draw.choices(("solved", "unsolved", "error"), (6, 3, 1))[0]
                        made_with = {"renderer": renderers[index % len(renderers)]}
                        scene = f"{task}{partition}{index}{draw.random() < 0.1}"
                        found.append(
                            record_of(
                                index, outcome, task, partition, perturbation, repeat,
                                made_with=made_with, initial_digest=scene, nodeid=f"{task}{index}",
                            )
                        )  # fmt: skip
    draw.shuffle(found)
    return found


@pytest.fixture
def records(record_of):
    return hard_records(record_of, 1, ("egl", "osmesa"))


@pytest.fixture
def new(make_run, records):
    return in_suite_order(make_run(records, "new"))


@pytest.fixture
def old(make_run, record_of):
    return in_suite_order(make_run(hard_records(record_of, 2, ("egl", "egl", "osmesa")), "old"))


@pytest.fixture
def page(new, old, tmp_path):
    return Page((Side(new, {}), Side(old, {})), tmp_path)


@pytest.fixture
def truth(records):
    """Every cell counted by hand."""
    outcomes = defaultdict(Counter)
    for record in records:
        if record.key.repeat == 0:
            outcomes[record.cell][record.outcome] += 1
    return {cell: Tally(c["solved"], c["solved"] + c["unsolved"], c["error"]) for cell, c in outcomes.items()}


def counted(rows):
    """Tallies of rows that name cell and outcome, repeats left out."""
    outcomes = defaultdict(Counter)
    for row in rows:
        if not int(row["repeat"]):
            cell = Cell(row["suite"], row["task"], row["partition"], row["perturbation"])
            outcomes[cell][row["outcome"]] += 1
    return {cell: Tally(c["solved"], c["solved"] + c["unsolved"], c["error"]) for cell, c in outcomes.items()}


def total(tallies, wanted=lambda cell: True):
    return sum((tally for cell, tally in tallies.items() if wanted(cell)), Tally())


def test_the_summary_gives_the_numbers(new, truth):
    expected = {
        (f"s/{cell.task}", f"{cell.partition} {cell.perturbation}".rstrip(), *tally.texts())
        for cell, tally in truth.items()
    }
    assert set(summary_rows(new.once)) == expected
    everything = total(truth)
    text = "\n".join(summary_lines(new))
    assert f"{everything.solved} of {everything.measured} episodes solved, {everything.errors} errors" in text


def test_the_page_gives_the_numbers(page, truth):
    (heat,) = success_view(page).maps
    shown = {
        (row.task, column): rate.tally
        for row in heat.rows
        for column, rate in zip(heat.columns, row.cells, strict=True)
        if rate is not None
    }
    assert shown == {(cell.task, f"{cell.partition} {cell.perturbation}".rstrip()): t for cell, t in truth.items()}
    unperturbed = total(truth, lambda cell: not cell.perturbation)
    assert overview(page).rate.tally == heat.total.tally == unperturbed
    levels = {level.name: level.rate.tally for level in success_view(page).levels["s"]}
    assert levels == {p: total(truth, lambda c, p=p: c.partition == p and not c.perturbation) for p in PARTITIONS}


def test_the_pages_data_gives_the_numbers(page, truth):
    data = json.loads(episodes_view(page).data)
    columns = data["runs"][0]["columns"]
    words = data["words"]
    rows = [
        {name: words[column[row]] if name in data["word_fields"] else column[row] for name, column in columns.items()}
        for row in range(len(columns["id"]))
    ]
    assert counted(rows) == truth


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_exports_of_episodes_give_the_numbers(new, truth, records, tmp_path, kind):
    if kind == "csv":
        write_csv(new, tmp_path / "out.csv")
        rows = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    else:
        parquet = pytest.importorskip("pyarrow.parquet", reason='needs pyarrow: pip install "pytest-vla[parquet]"')
        write_parquet(new, tmp_path / "out.parquet")
        rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert len(rows) == len(records)
    assert counted(rows) == truth


def test_the_markdown_gives_the_numbers(new, truth):
    text = markdown(new)
    for cell, tally in truth.items():
        level = f"{cell.partition} {cell.perturbation}".rstrip()
        assert f"| s/{cell.task} | {level} | {' | '.join(tally.texts())} |" in text
    everything = total(truth)
    assert f"{everything.solved} of {everything.measured} episodes solved, {everything.errors} errors." in text


def test_running_rates_end_at_the_numbers(records, truth):
    rates = {(name, solved, measured) for _, name, solved, measured in RunningRates(records=records).rows()}
    for partition in PARTITIONS:
        plain = total(truth, lambda cell, p=partition: cell.partition == p and not cell.perturbation)
        perturbed = total(truth, lambda cell, p=partition: cell.partition == p and cell.perturbation)
        assert (partition, plain.solved, plain.measured) in rates
        assert (f"{partition}, perturbed", perturbed.solved, perturbed.measured) in rates


def test_the_page_pairs_as_the_run_does(page, new, old):
    pairs, comparison = pair(new.table, old.table), comparison_view(page)
    assert 0 < len(pairs) < len(new.once)
    assert comparison.total.counts[:3] == (len(pairs), pairs.gained, pairs.lost)
    assert sum(row.counts.pairs for row in comparison.rows) == len(pairs)
    assert {why: count for count, why in comparison.left_out} == {str(why): n for why, n in pairs.why().items()}
    data = json.loads(episodes_view(page).data)
    flips = Counter(data["words"][code] for code in data["runs"][0]["flips"])
    assert (flips["gained"], flips["lost"], flips[""]) == (pairs.gained, pairs.lost, len(new) - len(new.once))


def test_the_perturbed_summary_and_the_brittleness_map_agree(new, page):
    from pytest_vla.perturb.summary import matched
    from pytest_vla.report.html.brittleness import brittleness

    points = brittleness(new.once).curves[0].points
    for each in matched(new.once):
        ((_, level),) = each.perturbation.levels
        assert points[level].control == each.control
        assert points[level].rate.tally.measured >= each.perturbed.measured


def test_a_browser_shows_the_numbers(new, old, truth, tmp_path, open_page):
    page = open_page(build_report(new, tmp_path / "page.html", old, video="none"))
    unperturbed = total(truth, lambda cell: not cell.perturbation)
    headline = page.locator(".headline").inner_text()
    assert f"{unperturbed.solved} of {unperturbed.measured} episodes" in headline
    everything = total(truth)
    count = page.locator("#count").inner_text()
    assert re.search(rf": {everything.solved} of {everything.measured} solved, .*, {everything.errors} errors$", count)
    for cell in page.locator("#map td.heat a").all()[:6]:
        cell.click()
        solved, measured = cell.get_attribute("data-solved"), cell.get_attribute("data-measured")
        assert f": {solved} of {measured} solved" in page.locator("#count").inner_text()
