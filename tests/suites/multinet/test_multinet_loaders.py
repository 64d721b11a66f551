"""Data on disk: what is written in the originals' formats reads back equal, and what is not there is named."""

from __future__ import annotations

import pickle
import subprocess

import numpy as np
import pytest
from pytest_vla.suites.multinet import suite as make_suite
from pytest_vla.suites.multinet.domains import DOMAINS, SHAPES
from pytest_vla.suites.multinet.judge import label_text
from pytest_vla.suites.multinet.loaders import Missing, load
from pytest_vla.suites.multinet.loaders.files import DataError, json_lines, plain_pickle
from pytest_vla.suites.multinet.loaders.folders import class_names, scene_of
from pytest_vla.suites.multinet.loaders.tfrecord import encoded, example, records, write_records
from pytest_vla.suites.multinet.samples import joint_action
from pytest_vla.suites.multinet.synthetic import synthetic_source
from pytest_vla.suites.multinet.synthetic.write import write_all

from pytest_vla.isolate.environment import installed, place_of, python_of

TASKS = [task for domain in DOMAINS.values() for task in domain.tasks if task == SHAPES or "odinw" not in task]
SAMPLES = 9


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for partition in ("public", "full"):
        write_all(folder, partition, SAMPLES)
    return folder


@pytest.mark.parametrize("partition", ["public", "full"])
@pytest.mark.parametrize("task", TASKS)
def test_what_was_written_is_read(root, task, partition):
    suite = make_suite()
    made, read = synthetic_source(task), load(task, partition, root)
    assert len(read) == SAMPLES
    assert read.size == made.size
    for index in range(SAMPLES):
        one = made.sample(suite.episode(task, "synthetic", index))
        other = read.sample(suite.episode(task, "synthetic", index))
        assert label_text(other) == label_text(one)
        if "bfcl" not in task:  # there only what is written knows the parameters of functions
            assert other.instruction.partition("\n")[0].replace("shapes", "") == one.instruction.partition("\n")[
                0
            ].replace("odinw_shapes", "")
        assert (one.image is None) == (other.image is None)
        if one.image is not None and other.image is not None:
            assert np.array_equal(one.image(), other.image())


@pytest.mark.parametrize("task", [*TASKS, "odinw_Aquarium"])
def test_what_is_missing_is_named_by_its_path(tmp_path, task):
    with pytest.raises(Missing, match=str(tmp_path)):
        load(task, "full", tmp_path)
    with pytest.raises(Missing, match="--vla-data=multinet=DIR"):
        load(task, "full", None)


def test_missing_data_skips_and_short_data_ends(root, pytester):
    options = ("--vla-suite=multinet", "--vla-policy=oracle", "--vla-partition=public", "-rs")
    result = pytester.runpytest_subprocess(*options, "--vla-task=piqa", "--vla-data=multinet=nowhere")
    result.stdout.fnmatch_lines(["*nowhere/piqa/public/*.jsonl' is missing: fetch physicaliqa-train-dev.zip*"])
    result.assert_outcomes(skipped=1)
    result = pytester.runpytest_subprocess(
        *options, "--vla-task=piqa", f"--vla-data=multinet={root}", "--vla-episodes=12"
    )
    result.stdout.fnmatch_lines([f"*piqa/public has {SAMPLES} samples and no more*"])
    result.assert_outcomes(passed=SAMPLES, skipped=1)


def test_a_pickle_that_names_anything_is_refused(tmp_path):
    path = tmp_path / "rows.pickle"
    path.write_bytes(pickle.dumps([{"x": print}]))
    with pytest.raises(DataError, match="only plain values"):
        plain_pickle(path)
    path.write_bytes(b"cos\nsystem\n(S'touch BROKEN'\ntR.")
    with pytest.raises(DataError, match=r"posix\.system|os\.system"):
        plain_pickle(path)
    path.write_bytes(pickle.dumps([{"x": "1"}]))
    assert plain_pickle(path) == [{"x": "1"}]


def test_rows_without_labels_are_refused(tmp_path):
    folder = tmp_path / "piqa" / "public"
    folder.mkdir(parents=True)
    (folder / "piqa.jsonl").write_text('{"goal": "g", "sol1": "a", "sol2": "b"}\n')
    with pytest.raises(DataError, match="have no label"):
        load("piqa", "public", tmp_path)
    (folder / "piqa.jsonl").write_text("[1]\n")
    with pytest.raises(DataError, match="line 1"):
        json_lines(folder / "piqa.jsonl")


def test_examples_of_tensorflow_survive_the_way_there_and_back(tmp_path):
    features = {"steps/action": [1.5, -2.0], "steps/is_last": [0, 1, -3], "text": [b"a", b"\x00\xff" * 200]}
    path = tmp_path / "one.tfrecord"
    write_records(path, [encoded(features), encoded({})])
    assert [example(payload) for payload in records(path)] == [features, {}]
    path.write_bytes(b"\x01" + path.read_bytes()[1:])
    with pytest.raises(DataError, match="checksum"):
        list(records(path))
    path.write_bytes(b"short")
    with pytest.raises(DataError, match="middle of a record"):
        list(records(path))


def test_headings_are_no_classes_and_scenes_have_names(tmp_path):
    assert class_names([{"name": "all", "supercategory": "none"}, {"name": "a", "supercategory": "all"}]) == ["a"]
    assert scene_of(tmp_path / "scene0000_00_vh_clean_2_top_down.png") == "scene0000_00"
    assert scene_of(tmp_path / "scene0000_01_top.png") == "scene0000_01"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("[[0, 0], [0, 0]]", 28),
        ('[[0, -1], "interact"]', 5),
        ("['INTERACT', [0, 0]]", 34),
        ("[(1, 0), (-1, 0)]", 15),
        ("what", 28),
        ("[[9, 9], [0, 0]]", 28),
    ],
)
def test_joint_actions_have_numbers(text, number):
    assert joint_action(text) == number


def test_shards_of_tensorflow_need_their_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(tmp_path / "envs"))
    (tmp_path / "openx_bimanual" / "public" / "translated_shard_0").mkdir(parents=True)
    suite = make_suite()
    monkeypatch.setattr(suite, "data_folder", lambda: tmp_path)
    why = suite.lacks(suite.episode("openx_bimanual", "public", 0))
    assert "pytest-vla install multinet_tfdata" in why
    assert "translated_shard_0" in why


WRITE_SHARD = """
import sys, numpy as np, tensorflow as tf
rng = np.random.default_rng(0)
steps = {
    "action": {"b": rng.normal(size=(5, 7)).astype("f"), "a": rng.normal(size=(5, 7)).astype("f"), "n": np.arange(5)},
    "observation": {"image": rng.integers(0, 255, (5, 8, 8, 3), dtype=np.uint8), "pose": np.ones((5, 2), "f")},
    "language_instruction": np.array([b"reach"] * 5),
}
tf.data.Dataset.from_tensor_slices(steps).save(sys.argv[1])
np.save(sys.argv[2], np.concatenate([steps["action"]["a"], steps["action"]["b"]], axis=1))
"""


@pytest.mark.skipif(installed("multinet_tfdata") is None, reason="needs pytest-vla install multinet_tfdata")
def test_shards_of_tensorflow_are_read(tmp_path):
    shard, labels = tmp_path / "openx_bimanual" / "public" / "translated_shard_0", tmp_path / "labels.npy"
    python = python_of(place_of("multinet_tfdata"))
    subprocess.run([python, "-c", WRITE_SHARD, str(shard), str(labels)], check=True, capture_output=True)
    source = load("openx_bimanual", "public", tmp_path)
    assert len(source) == 5
    sample = source.sample(make_suite().episode("openx_bimanual", "public", 2))
    assert np.allclose(sample.label, np.load(labels)[2])
    assert sample.instruction.startswith("reach\n")
    assert sample.image().shape == (8, 8, 3)
    assert set(sample.state) == {"pose"}
