"""Demonstrations on disk, laid out as LeRobot's dataset format v3.0, with the multimodal prompts in a folder beside.

meta/info.json, stats.json, tasks.parquet, episodes/chunk-000/file-000.parquet
data/chunk-000/file-000.parquet, ...      one row a step, images as PNG
prompts/chunk-000/file-000.parquet, ...   one row an episode: ours, LeRobot does not look at it
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla import tree
from pytest_vla._version import __version__
from pytest_vla.train.demonstration import IMAGE_PARTS, Array, Demonstration, component_names, split_components
from pytest_vla.train.errors import DatasetError

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image
except ImportError:
    raise DatasetError('recording and training need pyarrow and Pillow: pip install "pytest-vla[train]"') from None

FORMAT = "v3.0"
EPISODES_PER_FILE = 500
FILES_PER_CHUNK = 1000
KEY = ("suite", "task", "partition", "index", "perturbation", "repeat")  # which episode it was
VECTORS = ("observation.state", "action")
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@dataclass(frozen=True)
class Packed:
    """One episode ready to be written: its rows, its prompt's row, and what the dataset says of it."""

    rows: pa.Table
    prompt: pa.Table
    about: dict[str, Any]

    @classmethod
    def of(cls, demonstration: Demonstration) -> Packed:
        about = {name: getattr(demonstration, name) for name in (*KEY, "instruction")}
        prompt = pa.Table.from_pylist([_packed(demonstration.prompt)])
        return cls(_rows(demonstration), prompt, {**about, "features": _features(demonstration)})

    def save(self, path: Path) -> None:
        """Keep the episode in two files of its own until the dataset is put together."""
        _write(path.with_suffix(".prompt"), self.prompt)
        _write(path, self.rows.replace_schema_metadata({"about": json.dumps(self.about)}))

    @classmethod
    def load(cls, path: Path) -> Packed:
        rows = pq.read_table(path).replace_schema_metadata(None)
        return cls(rows, pq.read_table(path.with_suffix(".prompt")), read_about(path))


def read_about(path: Path) -> dict[str, Any]:
    """What a saved episode says of itself."""
    about: dict[str, Any] = json.loads(pq.read_schema(path).metadata[b"about"])
    return about


def write_dataset(folder: Path, episodes: Iterable[Packed], fps: float) -> int:
    """Write a dataset of these episodes, in this order; returns how many there were."""
    writer = _Writer(folder, fps)
    for episode in episodes:
        writer.add(episode)
    writer.close()
    return len(writer.episodes)


def read_dataset(folder: Path) -> Iterator[Demonstration]:
    """The demonstrations of a dataset in order, read as they are asked for."""
    names = {key: tuple(feature["names"] or ()) for key, feature in read_info(folder)["features"].items()}
    episodes = pq.read_table(folder / "meta" / "episodes").to_pylist()
    for number in sorted({(episode["data/chunk_index"], episode["data/file_index"]) for episode in episodes}):
        data = pq.read_table(folder / "data" / _file_name(*number))
        prompts = pq.read_table(folder / "prompts" / _file_name(*number)).to_pylist()
        first = data["index"][0].as_py()
        mine = [e for e in episodes if (e["data/chunk_index"], e["data/file_index"]) == number]
        for episode, prompt in zip(mine, prompts, strict=True):
            rows = data.slice(episode["dataset_from_index"] - first, episode["length"])
            yield _demonstration(episode, rows, prompt, names)


def read_info(folder: Path) -> dict[str, Any]:
    """What the dataset says of itself; raises DatasetError where there is none."""
    path = folder / "meta" / "info.json"
    if not path.is_file():
        raise DatasetError(f"'{folder}' is no dataset (it has no meta/info.json); make one with pytest-vla record")
    info: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if info.get("codebase_version") != FORMAT:
        raise DatasetError(f"'{folder}' has format {info.get('codebase_version')!r}; this version reads {FORMAT}")
    return info


@dataclass
class _Writer:
    folder: Path
    fps: float
    episodes: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[str, int] = field(default_factory=dict)
    features: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, list[Array]] = field(default_factory=dict)
    frames: int = 0
    rows: list[pa.Table] = field(default_factory=list)
    prompts: list[pa.Table] = field(default_factory=list)

    def add(self, episode: Packed) -> None:
        number, length, about = len(self.episodes), len(episode.rows), episode.about
        task = self.tasks.setdefault(about["instruction"], len(self.tasks))
        self.features = self.features or about["features"]
        if about["features"] != self.features:
            raise DatasetError(f"{about['task']} records other things than the tasks before; record it by itself")
        rows = episode.rows
        for name, values in (
            ("timestamp", np.arange(length, dtype=np.float32) / np.float32(self.fps)),
            ("frame_index", np.arange(length)),
            ("episode_index", np.full(length, number)),
            ("index", np.arange(self.frames, self.frames + length)),
            ("task_index", np.full(length, task)),
        ):
            rows = rows.append_column(name, pa.array(values))
        self.rows.append(rows)
        self.prompts.append(episode.prompt.append_column("episode_index", pa.array([number])))
        for name in VECTORS:
            if name in rows.column_names:
                self.vectors.setdefault(name, []).append(_matrix(rows[name]))
        chunk, file = divmod(number // EPISODES_PER_FILE, FILES_PER_CHUNK)
        self.episodes.append(
            {
                "episode_index": number,
                "tasks": [about["instruction"]],
                "length": length,
                "dataset_from_index": self.frames,
                "dataset_to_index": self.frames + length,
                "data/chunk_index": chunk,
                "data/file_index": file,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                **{f"vla/{name}": about[name] for name in KEY},
            }
        )
        self.frames += length
        if len(self.rows) == EPISODES_PER_FILE:
            self._flush()

    def close(self) -> None:
        if not self.episodes:
            raise DatasetError("there is no demonstration to write")
        if self.rows:
            self._flush()
        meta = self.folder / "meta"
        _write(meta / "episodes" / _file_name(0, 0), pa.Table.from_pylist(self.episodes))
        _write(meta / "tasks.parquet", _task_table(self.tasks))
        _write_json(meta / "stats.json", {name: _stats(np.concatenate(rows)) for name, rows in self.vectors.items()})
        _write_json(
            meta / "info.json",
            {
                "codebase_version": FORMAT,
                "robot_type": self.episodes[0]["vla/suite"],
                "total_episodes": len(self.episodes),
                "total_frames": self.frames,
                "total_tasks": len(self.tasks),
                "chunks_size": FILES_PER_CHUNK,
                "data_files_size_in_mb": 100,
                "video_files_size_in_mb": 200,
                "fps": self.fps,
                "splits": {"train": f"0:{len(self.episodes)}"},
                "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
                "video_path": None,
                "features": self.features,
                "made_by": f"pytest-vla {__version__}",
            },
        )

    def _flush(self) -> None:
        last = self.episodes[-1]
        name = _file_name(last["data/chunk_index"], last["data/file_index"])
        _write(self.folder / "data" / name, pa.concat_tables(self.rows))
        _write(self.folder / "prompts" / name, pa.concat_tables(self.prompts))
        self.rows, self.prompts = [], []


def _rows(demonstration: Demonstration) -> pa.Table:
    """The columns of an episode that do not depend on its place in the dataset."""
    columns: dict[str, Any] = {}
    for part in IMAGE_PARTS:
        for camera, frames in getattr(demonstration, part).items():
            values = [{"bytes": _png(frame), "path": None} for frame in frames]
            columns[f"observation.{part}.{camera}"] = pa.array(values, IMAGE)
    state = [frames.reshape(len(frames), -1) for frames in demonstration.state.values()]
    if state:
        columns["observation.state"] = _vectors(np.concatenate(state, axis=1))
    columns["action"] = _vectors(demonstration.action)
    return pa.table(columns)


def _features(demonstration: Demonstration) -> dict[str, Any]:
    """What each column holds, as LeRobot describes it."""
    features: dict[str, Any] = {}
    for part in IMAGE_PARTS:
        for camera, frames in getattr(demonstration, part).items():
            height, width, *channels = frames.shape[1:]
            shape = [height, width, *(channels or [1])]
            names = ["height", "width", "channels"]
            features[f"observation.{part}.{camera}"] = {"dtype": "image", "shape": shape, "names": names}
    first = {name: frames[0] for name, frames in demonstration.state.items()}
    for name, parts in zip(VECTORS, (component_names(first), demonstration.action_names), strict=True):
        if parts:
            features[name] = {"dtype": "float32", "shape": [len(parts)], "names": list(parts)}
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        dtype = "float32" if name == "timestamp" else "int64"
        features[name] = {"dtype": dtype, "shape": [1], "names": None}
    return features


def _demonstration(
    episode: Mapping[str, Any], rows: pa.Table, prompt: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]
) -> Demonstration:
    def images(part: str) -> dict[str, Array]:
        prefix = f"observation.{part}."
        return {
            name.removeprefix(prefix): np.stack([_pixels(value["bytes"]) for value in rows[name].to_pylist()])
            for name in rows.column_names
            if name.startswith(prefix)
        }

    state = names.get("observation.state", ())
    return Demonstration(
        **{name: episode[f"vla/{name}"] for name in KEY},
        instruction=episode["tasks"][0],
        images=images("images"),
        segmentation=images("segmentation"),
        state=split_components(state, _matrix(rows["observation.state"])) if state else {},
        action=_matrix(rows["action"]),
        action_names=names["action"],
        prompt=_unpacked(prompt),
    )


def _packed(prompt: Any) -> dict[str, Any]:
    if prompt is None:
        return {"skeleton": "", "arrays": b""}
    skeleton, arrays = tree.flatten(prompt)
    memory = np.zeros(tree.size_of(arrays), np.uint8)
    tree.write(arrays, memory)
    return {"skeleton": json.dumps(skeleton), "arrays": memory.tobytes()}


def _unpacked(row: Mapping[str, Any]) -> Any:
    if not row["skeleton"]:
        return None
    return tree.unflatten(json.loads(row["skeleton"]), np.frombuffer(row["arrays"], np.uint8))[0]


def _png(frame: Array) -> bytes:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _pixels(png: bytes) -> Array:
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        return np.asarray(image)


def _vectors(rows: Array) -> pa.Array:
    """A column of vectors; of plain numbers where there is one each, as LeRobot expects."""
    flat = pa.array(np.ascontiguousarray(rows, np.float32).reshape(-1))
    return flat if rows.shape[1] == 1 else pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])


def _matrix(column: pa.ChunkedArray) -> Array:
    values = column.combine_chunks()
    flat = values.flatten() if pa.types.is_fixed_size_list(values.type) else values
    return np.asarray(flat).reshape(len(values), -1)


def _task_table(tasks: Mapping[str, int]) -> pa.Table:
    """Instructions are the row labels: pandas is told so in the metadata, since LeRobot reads the file with it."""
    table = pa.table({"task_index": pa.array(list(tasks.values()), pa.int64()), "task": list(tasks)})
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
            for name, kind, numpy in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def _stats(rows: Array) -> dict[str, Any]:
    values = {"min": rows.min(0), "max": rows.max(0), "mean": rows.mean(0), "std": rows.std(0)}
    return {**{name: value.tolist() for name, value in values.items()}, "count": [len(rows)]}


def _file_name(chunk: int, file: int) -> str:
    return f"chunk-{chunk:03d}/file-{file:03d}.parquet"


def _write(path: Path, table: pa.Table) -> None:
    """All of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    pq.write_table(table, draft, compression="zstd")
    draft.replace(path)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
