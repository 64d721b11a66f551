"""`python -m pytest_vla.suites.multinet.synthetic.write DIR`: the generated samples in the files of the originals."""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla.episode import EpisodeKey

from ..domains import DOMAIN_OF, DOMAINS, SHAPES
from ..loaders.folders import SPLITS
from ..loaders.tfrecord import encoded, write_records
from . import pictures
from .source import WRITTEN, synthetic_source

STEPS = 8  # of an episode, where samples are steps
Row = dict[str, Any]


def write_all(root: Path, partition: str = "public", count: int = WRITTEN) -> None:
    """Every task's first samples, as its loader reads them: pictures, labels and all."""
    for task in (task for domain in DOMAINS.values() for task in domain.tasks if task == SHAPES or "odinw" not in task):
        _WRITERS[DOMAIN_OF[task].name](task, root, SPLITS[partition], list(_rows(task, count)))


def _rows(task: str, count: int) -> Iterator[Row]:
    source = synthetic_source(task)
    for index in range(count):
        yield source.draw(EpisodeKey("multinet", task, "synthetic", index).rng())


def _openx(task: str, root: Path, split: str, rows: list[Row]) -> None:
    """Arms as TFRecord episodes, the other morphologies as npz files."""
    folder = _made(root / task / split)
    for start in range(0, len(rows), STEPS):
        steps = rows[start : start + STEPS]
        if "arm" in task:
            path = folder / f"{task}-{start // STEPS:05d}.tfrecord"
            write_records(path, [encoded(_episode(steps))])
        else:
            np.savez_compressed(
                folder / f"shard_{start // STEPS}.npz",
                action=np.stack([row["action"] for row in steps]),
                image_observation=np.stack([row["image_observation"]() for row in steps]),
                text_observation=np.array([row["text_observation"] for row in steps]),
                is_last=np.arange(len(steps)) == len(steps) - 1,
            )


def _episode(steps: list[Row]) -> dict[str, Any]:
    return {
        "steps/action": [float(value) for row in steps for value in row["action"]],
        "steps/observation/image": [_png(row["image_observation"]()) for row in steps],
        "steps/language_instruction": [row["text_observation"].encode() for row in steps],
        "steps/is_last": [int(number == len(steps) - 1) for number in range(len(steps))],
    }


def _overcooked(task: str, root: Path, split: str, rows: list[Row]) -> None:
    """As a pickle of texts in the one partition, as CSV in the other."""
    folder = _made(root / "overcooked_ai" / split)
    texts = [{**row, "state": base64.b64encode(_png(row["state"]())).decode()} for row in rows]
    if split == "public":
        (folder / "trials.pickle").write_bytes(pickle.dumps(texts))
        return
    with (folder / "trials.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(texts[0]))
        writer.writeheader()
        writer.writerows(texts)


def _piqa(task: str, root: Path, split: str, rows: list[Row]) -> None:
    numbered = [{"id": number, **row, "line_id": number} for number, row in enumerate(rows)]
    _json_lines(_made(root / "piqa" / split) / "piqa.jsonl", numbered)


def _sqa3d(task: str, root: Path, split: str, rows: list[Row]) -> None:
    folder = _made(root / "sqa3d" / split)
    questions, annotations = [], []
    for number, row in enumerate(rows):
        scene = f"scene{number:04d}_00"
        common = {"question_id": number, "scene_id": scene}
        questions.append({**common, **{name: row[name] for name in ("question", "situation")}})
        answers = [{"answer": row["answer"], "answer_confidence": "yes", "answer_id": 1}]
        annotations.append({**common, "answers": answers, "question_type": "what"})
        (folder / f"{scene}_vh_clean_2_top_down.png").write_bytes(_png(row["image"]()))
    _json(folder / "v1_balanced_questions_test_scannetv2.json", {"questions": questions})
    _json(folder / "v1_balanced_sqa_annotations_test_scannetv2.json", {"annotations": annotations})


def _robovqa(task: str, root: Path, split: str, rows: list[Row]) -> None:
    folder = _made(root / "openx_multi_embodiment" / split)
    for number, row in enumerate(rows):
        np.savez_compressed(
            folder / f"shard_{number}.npz",
            images=row["images"]()[None],
            raw_text_question=np.array([row["raw_text_question"]]),
            raw_text_answer=np.array([row["raw_text_answer"]]),
        )


def _odinw(task: str, root: Path, split: str, rows: list[Row]) -> None:
    """As crops in the one partition, as COCO boxes in whole pictures in the other; a heading is before the classes."""
    folder = _made(root / "odinw" / split / task.removeprefix("odinw_"))
    categories = [{"id": 0, "name": "shapes", "supercategory": "none"}] + [
        {"id": number, "name": name, "supercategory": "shapes"} for number, name in enumerate(pictures.SHAPES, 1)
    ]
    if split == "public":
        crops = _made(folder / "bbox_images")
        pairs = []
        for number, row in enumerate(rows):
            name = f"bbox_{number}_scene.png"
            (crops / name).write_bytes(_png(row["crop"]()))
            pairs.append({"bbox_image": name, **{key: row[key] for key in ("category_name", "bbox", "area")}})
        _json(folder / "categories.json", {"categories": categories, "num_categories": len(categories)})
        _json(folder / "test_object_caption_pairs.json", pairs)
        return
    images, boxes = [], []
    for number, row in enumerate(rows):
        name = f"scene_{number}.png"
        (folder / name).write_bytes(_png(row["scene"]()))
        images.append({"id": number, "file_name": name})
        category = 1 + pictures.SHAPES.index(row["category_name"])
        boxes.append({"id": number, "image_id": number, "category_id": category, "bbox": row["bbox"]})
    _json(folder / "_annotations.coco.json", {"categories": categories, "images": images, "annotations": boxes})


def _bfcl(task: str, root: Path, split: str, rows: list[Row]) -> None:
    folder = _made(root / "bfcl_v3" / split)
    named = [{"id": f"multi_turn_base_{number}", **row} for number, row in enumerate(rows)]
    asked = ("id", "question", "initial_config", "path", "involved_classes")
    _json_lines(folder / "questions.jsonl", [{name: row[name] for name in asked} for row in named])
    _json_lines(folder / "answers.jsonl", [{name: row[name] for name in ("id", "ground_truth")} for row in named])


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _png(image: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.asarray(image, np.uint8)).save(file, "PNG")
    return file.getvalue()


def _json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


def _json_lines(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


_WRITERS: dict[str, Callable[[str, Path, str, list[Row]], None]] = {
    "openx": _openx,
    "overcooked": _overcooked,
    "piqa": _piqa,
    "sqa3d": _sqa3d,
    "robovqa": _robovqa,
    "odinw": _odinw,
    "bfcl": _bfcl,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--partition", choices=list(SPLITS), default="public")
    parser.add_argument("--samples", type=int, default=WRITTEN, metavar="N")
    options = parser.parse_args()
    write_all(options.folder, options.partition, options.samples)
    print(f"{options.samples} samples of each task: --vla-data=multinet={options.folder}")


if __name__ == "__main__":
    main()
