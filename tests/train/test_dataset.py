"""What is written as a dataset reads back the same, and says of itself what is in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import demonstration, write

from pytest_vla.train import dataset
from pytest_vla.train.dataset import Packed, read_dataset
from pytest_vla.train.demonstration import Demonstration, component_names, split_components
from pytest_vla.train.errors import DatasetError


def assert_same(one: Demonstration, other: Demonstration) -> None:
    for name in ("suite", "task", "partition", "index", "instruction", "action_names"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("images", "segmentation", "state"):
        assert getattr(one, name).keys() == getattr(other, name).keys()
        for key, value in getattr(one, name).items():
            np.testing.assert_array_equal(value, getattr(other, name)[key])
    np.testing.assert_array_equal(one.action, other.action)


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=7), per_file=st.integers(1, 4))
def test_what_was_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], per_file: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "EPISODES_PER_FILE", per_file)
        written = [demonstration(i, length) for i, length in enumerate(lengths)]
        folder = write(tmp_path_factory.mktemp("data") / "set", *written)
    for one, other in zip(written, read_dataset(folder), strict=True):
        assert_same(one, other)


def test_a_prompt_reads_back_as_the_tree_it_was(tmp_path: Path) -> None:
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    prompt = {"text": "like {this}", "assets": {"this": {"rgb": {"top": picture}}}}
    (read,) = read_dataset(write(tmp_path / "set", demonstration(prompt=prompt)))
    assert read.prompt["text"] == "like {this}"
    np.testing.assert_array_equal(read.prompt["assets"]["this"]["rgb"]["top"], picture)


def test_the_layout_is_that_of_lerobot(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", demonstration(0), demonstration(1, 2), demonstration(2))
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["total_episodes"], info["total_frames"], info["fps"]) == ("v3.0", 3, 8, 10)
    assert info["features"]["observation.images.top"] == {
        "dtype": "image",
        "shape": [8, 12, 3],
        "names": ["height", "width", "channels"],
    }
    rows = pq.read_table(folder / info["data_path"].format(chunk_index=0, file_index=0)).to_pydict()
    assert rows["index"] == list(range(8))
    assert rows["episode_index"] == [0, 0, 0, 1, 1, 2, 2, 2]
    assert rows["task_index"] == [0, 0, 0, 1, 1, 0, 0, 0]
    assert rows["timestamp"] == pytest.approx([0, 0.1, 0.2, 0, 0.1, 0, 0.1, 0.2])
    assert set(rows) == set(info["features"])
    tasks = pq.read_table(folder / "meta/tasks.parquet").to_pydict()
    assert tasks == {"task_index": [0, 1], "task": ["stack block 0", "stack block 1"]}


def test_a_part_on_disk_is_the_same_episode(tmp_path: Path) -> None:
    packed = Packed.of(demonstration(4))
    packed.save(tmp_path / "part.parquet")
    loaded = Packed.load(tmp_path / "part.parquet")
    assert loaded.about == packed.about
    assert loaded.rows.equals(packed.rows)
    assert loaded.prompt.equals(packed.prompt)


def test_flat_vectors_split_into_their_parts() -> None:
    parts = {"a": np.zeros(2), "b": np.ones(1), "c": np.full(3, 2)}
    flat = np.concatenate(list(parts.values()))
    for name, part in split_components(component_names(parts), flat).items():
        np.testing.assert_array_equal(part, parts[name])


def test_a_folder_that_is_no_dataset_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="pytest-vla record"):
        next(read_dataset(tmp_path))
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text('{"codebase_version": "v2.1"}')
    with pytest.raises(DatasetError, match=r"'v2\.1'"):
        next(read_dataset(tmp_path))


def test_no_demonstration_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no demonstration"):
        write(tmp_path / "set")
