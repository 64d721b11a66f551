"""`python -m pytest_vla.suites.multinet.score`: from a file of answers to the benchmark's numbers."""

from __future__ import annotations

import json

import pytest
from pytest_vla.suites.multinet.score import main, score_rows

from pytest_vla.kit.sentences import SHA256, SentencesError, have_sentences, sentence_features, weights_folder

ROWS = [
    {"domain": "piqa", "subset": "piqa", "label": 0, "output": "Solution 0", "choices": 2},
    {"domain": "piqa", "subset": "piqa", "label": 1, "output": "1", "choices": 2},
    {"domain": "odinw", "subset": "dice", "label": 2, "output": "2", "choices": 6},
    {"domain": "openx", "subset": "openx_bimanual", "label": [0.0] * 14, "output": str([0.5] * 14)},
    {"domain": "openx", "subset": "openx_bimanual", "label": [1.0] * 14, "output": "no idea"},
    {"domain": "overcooked", "subset": "test", "label": 28, "output": "28"},
    {"domain": "overcooked", "subset": "test", "label": 3, "output": "40"},
    {"domain": "sqa3d", "subset": "sqa3d", "label": "two", "output": "2"},
    {"domain": "robovqa", "subset": "robovqa", "label": "yes", "output": "Yes."},
    {
        "domain": "bfcl",
        "subset": "base",
        "label": [["ls()"], ["cd(folder='a')"]],
        "output": ["ls()", "cd( folder = 'a' )"],
    },
]


def test_every_domain_is_scored_by_both_parsers_and_beside_a_constant():
    scores = score_rows(ROWS, similarity=False)
    assert set(scores) == {"piqa", "odinw", "openx", "overcooked", "sqa3d", "robovqa", "bfcl"}
    piqa = scores["piqa"]["piqa"]
    assert (piqa["strict"]["overall_accuracy"], piqa["lenient"]["overall_accuracy"]) == (0.5, 1.0)
    assert piqa["strict"]["exact_match_rate"] == 1.0  # there it is of what could be read
    assert piqa["trivial"]["overall_accuracy"] == 0.5
    openx = scores["openx"]["openx_bimanual"]["strict"]
    assert (openx["total_invalid_preds"], openx["avg_dataset_amae"]) == (1, 0.75)
    assert set(openx["capability_metrics"]) == {"arm1", "arm2"}
    game = scores["overcooked"]["test"]["strict"]
    assert (game["exact_match"], game["clipped_exact_match"], game["avg_dataset_amae"]) == (0.5, 0.5, 1.0)
    assert game["player1_results"]["exact_match"] == 0.5
    assert scores["overcooked"]["test"]["trivial"]["exact_match"] == 0.5
    words = scores["sqa3d"]["sqa3d"]
    assert (words["strict"]["exact_match_accuracy"], words["lenient"]["exact_match_accuracy"]) == (0.0, 1.0)
    calls = scores["bfcl"]["base"]["strict"]
    assert (calls["exact_match_accuracy"], calls["ast_match_accuracy"], calls["turn_1_accuracy"]) == (0.0, 1.0, 1.0)


def test_the_command_writes_json(tmp_path, capsys):
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert main([str(source), "--json", str(out), "--no-similarity"]) == 0
    scores = json.loads(out.read_text(), parse_constant=pytest.fail)
    assert scores["odinw"]["dice"]["strict"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 1"),
        ('{"domain": "chess", "label": 1}', "domain must be one of"),
        ('{"domain": "piqa", "output": "1"}', "no label"),
        ('{"domain": "bfcl", "label": "x", "output": "y"}', "lists of turns"),
        ('{"domain": "piqa", "label": "zero", "output": "1"}', "number of a class"),
    ],
)
def test_what_cannot_be_scored_is_said(tmp_path, capsys, line, says):
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    assert main([str(path)]) == 4
    assert says in capsys.readouterr().err


@pytest.mark.skipif(not have_sentences(), reason="needs the weights of all-MiniLM-L6-v2")
def test_sentences_that_mean_the_same_are_similar():
    assert weights_folder().name == "model"
    near, same, far = sentence_features(["a cup on the table", "a mug on the desk", "the stock market fell"])
    assert near @ same > 0.6 > 0.3 > near @ far


@pytest.mark.skipif(not have_sentences(), reason="needs the weights of all-MiniLM-L6-v2")
def test_other_weights_are_refused(monkeypatch):
    monkeypatch.setitem(SHA256, "tokenizer.json", "0" * 64)
    with pytest.raises(SentencesError, match="is not the file that it should be"):
        weights_folder.__wrapped__()
