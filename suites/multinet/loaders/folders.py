"""Where a task's files are in the user's folder, and what to fetch where they are not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import samples
from ..domains import DOMAIN_OF, MORPHOLOGIES
from ..sample import Rows, Sample, Source, Statistics
from ..scoring import JOINT_ACTIONS
from . import files
from .files import DataError, Row
from .snapshots import snapshot_rows
from .tfrecord import rlds_rows

SPLITS: Mapping[str, str] = {"public": "public", "full": "test"}
"""The folder of each partition, as the benchmark's own tools write them."""

SOURCES: Mapping[str, str] = {
    "openx": "RLDS data of Open X-Embodiment, or MultiNet's own shards",
    "overcooked": "the human trials of overcooked_ai, as MultiNet processes them (ask CHAI before passing them on)",
    "piqa": "physicaliqa-train-dev.zip of ai2-mosaic",
    "sqa3d": "sqa_task.zip of Zenodo record 7792397, and your own renderings of ScanNet",
    "robovqa": "RoboVQA as MultiNet processes it",
    "odinw": "odinw_35 of GLIPModel/GLIP on the Hugging Face hub",
    "bfcl": "multi_turn_base of the Berkeley function calling leaderboard",
}


class Missing(Exception):
    """A file is not there: which, and where it comes from."""

    def __init__(self, path: Path, fetch: str) -> None:
        super().__init__(f"'{path}' is missing: fetch {fetch}")


def load(task: str, partition: str, root: Path | None) -> Source:
    """The samples of a task in the user's data."""
    domain = DOMAIN_OF[task].name
    fetch = SOURCES[domain]
    if root is None:
        raise Missing(Path("DIR") / _folder(task) / SPLITS[partition], f"{fetch}, then add --vla-data=multinet=DIR")
    folder = root / _folder(task) / SPLITS[partition]
    try:
        return _READERS[domain](task, folder, root, fetch)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise DataError(f"{folder} is not laid out as expected: {type(error).__name__}: {error}") from error


def _folder(task: str) -> str:
    match DOMAIN_OF[task].name:
        case "overcooked":
            return "overcooked_ai"
        case "robovqa":
            return "openx_multi_embodiment"
        case "bfcl":
            return "bfcl_v3"
        case "odinw":
            return "odinw"
    return task


def _one(folder: Path, pattern: str, fetch: str) -> Path:
    """The only file of that kind."""
    found = sorted(folder.glob(pattern)) if folder.is_dir() else []
    if not found:
        raise Missing(folder / pattern, fetch)
    if len(found) > 1:
        raise DataError(f"'{folder}' must have one {pattern}, and has {', '.join(path.name for path in found)}")
    return found[0]


# --- openx, robovqa --------------------------------------------------------------------------------------------------


def _openx(task: str, folder: Path, root: Path, fetch: str) -> Source:
    dimensions = MORPHOLOGIES[task]
    rows = _steps(folder, fetch, partial(rlds_rows, dimensions=dimensions))
    labels = np.array([np.asarray(row["action"], np.float64) for row in rows])
    if labels.ndim != 2 or labels.shape[1] != dimensions:
        raise DataError(f"'{folder}': actions of '{task}' have {dimensions} dimensions, got shape {labels.shape}")
    statistics = Statistics.of(labels)
    return Rows(rows, partial(samples.openx_sample, task), size=dimensions, statistics=statistics)


def _robovqa(task: str, folder: Path, root: Path, fetch: str) -> Source:
    rows = _steps(folder, fetch, _no_records)
    return Rows(rows, samples.robovqa_sample, words=lambda: _labels(rows, "raw_text_answer"))


def _no_records(path: Path) -> Iterable[Row]:
    raise DataError(f"{path}: RoboVQA is read from npz files or from saved shards")


def _steps(folder: Path, fetch: str, read_records: Callable[[Path], Iterable[Row]]) -> list[Row]:
    """The steps in a folder: of npz files, of TFRecord files, or of shards that tf.data saved."""
    npz = sorted(folder.glob("*.npz"), key=_number)
    if npz:
        return [{"episode": path.stem, "step": n, **row} for path in npz for n, row in enumerate(files.npz_rows(path))]
    tfrecords = sorted(folder.glob("*.tfrecord*"))
    if tfrecords:
        return [row for path in tfrecords for row in read_records(path)]
    shards = sorted(folder.glob("translated_shard_*"), key=_number)
    if shards:
        return snapshot_rows(shards)
    raise Missing(folder / "translated_shard_0", f"{fetch} (npz and TFRecord files are read too)")


def _number(path: Path) -> tuple[int, str]:
    found = re.findall(r"\d+", path.name)
    return int(found[-1]) if found else 0, path.name


# --- overcooked ------------------------------------------------------------------------------------------------------


def _overcooked(task: str, folder: Path, root: Path, fetch: str) -> Source:
    if folder.is_dir() and any(folder.glob("*.csv")):
        rows = files.csv_file(_one(folder, "*.csv", fetch))
    else:
        rows = files.plain_pickle(_one(folder, "*.pickle", fetch))

    def make(row: Row, number: int) -> Sample:
        state = row.get("state")
        draw = partial(files.picture_in_text, state) if isinstance(state, str) and state else None
        return samples.overcooked_sample(row, number, draw)

    return Rows(rows, make, size=JOINT_ACTIONS)


# --- piqa ------------------------------------------------------------------------------------------------------------


def _piqa(task: str, folder: Path, root: Path, fetch: str) -> Source:
    raw = root / "physicaliqa-train-dev"
    if not folder.is_dir() and (raw / "dev.jsonl").is_file():
        labels = (raw / "dev-labels.lst").read_text(encoding="utf-8").split()
        rows = [{**row, "label": label} for row, label in zip(files.json_lines(raw / "dev.jsonl"), labels, strict=True)]
    else:
        path = _one(folder, "*.jsonl", fetch)
        rows = files.json_lines(path)
        unlabelled = [number for number, row in enumerate(rows) if row.get("label") is None]
        if unlabelled:
            raise DataError(f"{path}: {len(unlabelled)} rows have no label, and none is made up")
    return Rows(rows, samples.piqa_sample, size=2)


# --- sqa3d -----------------------------------------------------------------------------------------------------------


def _sqa3d(task: str, folder: Path, root: Path, fetch: str) -> Source:
    questions = files.json_file(_one(folder, "*question*.json", fetch))["questions"]
    annotations = files.json_file(_one(folder, "*annotation*.json", fetch))["annotations"]
    answers = {row["question_id"]: row for row in annotations}
    pictures = {scene_of(path): path for path in sorted(folder.rglob("*.png"))}
    kept = [row for row in questions if row["question_id"] in answers and str(row["scene_id"]) in pictures]
    if not kept:
        raise Missing(folder / "SCENE_top_down.png", fetch)

    def make(row: Row, number: int) -> Sample:
        draw = partial(files.picture, pictures[str(row["scene_id"])])
        return samples.sqa3d_sample(row, answers[row["question_id"]], draw)

    words = [str(answers[row["question_id"]]["answers"][0]["answer"]) for row in kept]
    return Rows(kept, make, words=lambda: sorted(set(words)))


def scene_of(path: Path) -> str:
    """The scene that a picture's name tells: what stands before `_vh_clean`, or its first two parts."""
    before, mark, _ = path.stem.partition("_vh_clean")
    return before if mark else "_".join(path.stem.split("_")[:2])


# --- odinw -----------------------------------------------------------------------------------------------------------


def _odinw(task: str, folder: Path, root: Path, fetch: str) -> Source:
    subset = task.removeprefix("odinw_")
    own = folder / subset
    if not own.is_dir():
        raise Missing(own, fetch)
    coco = own / "_annotations.coco.json"
    if coco.is_file():
        names, rows, draw = _from_coco(own, files.json_file(coco))
    else:
        names, rows, draw = _from_crops(own, fetch)

    def make(row: Row, number: int) -> Sample:
        return samples.odinw_sample(subset, names, row, number, partial(draw, row))

    return Rows(rows, make, size=len(names))


def class_names(categories: Any) -> list[str]:
    """Those that are no heading of others: an option is a place in this list."""
    if isinstance(categories, Mapping):
        categories = categories["categories"]
    return [str(one["name"]) for one in categories if one.get("supercategory") != "none"]


def _from_crops(own: Path, fetch: str) -> tuple[list[str], list[Row], Callable[[Row], Any]]:
    for name in ("categories.json", "bbox_images"):
        if not (own / name).exists():
            raise Missing(own / name, fetch)
    names = class_names(files.json_file(own / "categories.json"))
    better, other = own / "test_object_caption_pairs.json", own / "object_caption_pairs.json"
    if not better.is_file() and not other.is_file():
        raise Missing(other, fetch)
    rows = files.json_file(better if better.is_file() else other)
    return names, rows, lambda row: files.picture(own / "bbox_images" / Path(str(row["bbox_image"])).name)


def _from_coco(own: Path, data: Mapping[str, Any]) -> tuple[list[str], list[Row], Callable[[Row], Any]]:
    names = class_names(data["categories"])
    by_id = {one["id"]: str(one["name"]) for one in data["categories"]}
    images = {one["id"]: str(one["file_name"]) for one in data["images"]}
    rows = []
    for number, box in enumerate(data["annotations"]):
        name = by_id[box["category_id"]]
        if name in names and int(box["bbox"][2]) > 0 and int(box["bbox"][3]) > 0:
            file = images[box["image_id"]]
            rows.append(
                {"category_name": name, "bbox": box["bbox"], "original_image": file, "bbox_image": f"{number}_{file}"}
            )

    def draw(row: Row) -> Any:
        left, top, width, height = (max(0, int(value)) for value in row["bbox"])
        return files.picture(own / Path(row["original_image"]).name)[top : top + height, left : left + width]

    return names, rows, draw


# --- bfcl ------------------------------------------------------------------------------------------------------------


def _bfcl(task: str, folder: Path, root: Path, fetch: str) -> Source:
    questions, answers = (files.json_lines(_one(folder, name, fetch)) for name in ("questions.jsonl", "answers.jsonl"))
    by_id = {row["id"]: row for row in answers}
    kept = [row for row in questions if row["id"] in by_id]
    words = [call for row in answers for turn in row["ground_truth"] for call in turn]
    return Rows(kept, lambda row, number: samples.bfcl_sample(row, by_id[row["id"]]), words=lambda: sorted(set(words)))


def _labels(rows: Sequence[Row], name: str) -> list[str]:
    return sorted({str(row[name]) for row in rows})


_READERS: Mapping[str, Callable[[str, Path, Path, str], Source]] = {
    "openx": _openx,
    "overcooked": _overcooked,
    "piqa": _piqa,
    "sqa3d": _sqa3d,
    "robovqa": _robovqa,
    "odinw": _odinw,
    "bfcl": _bfcl,
}
