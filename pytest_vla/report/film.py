"""Films of episodes, drawn by simulating them again from the run file: recording costs the run itself nothing."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_vla.episode import Result
from pytest_vla.replay import Replayer, is_same
from pytest_vla.rollout import Step
from pytest_vla.run import Pairs, Record, Run
from pytest_vla.run.table import ERROR, UNSOLVED
from pytest_vla.run.trace import Tape, decode_actions, encode_actions, flat_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    from pytest_vla.report.media import Media

FORMAT = 1
DEFAULT_VIDEOS = "2"  # unsolved episodes per task
STRIP_FRAMES = 8
FLIPS = {1: "gained", -1: "lost"}


@dataclass(frozen=True)
class Film:
    """What is known of one filmed episode; files are named relative to the folder of the media."""

    episode: str
    digest: str
    note: str = ""
    video: str | None = None
    strip: str | None = None
    shown: list[int] = field(default_factory=list)
    """The steps on the strip."""
    prompt: list[dict[str, str]] = field(default_factory=list)
    """Pieces in reading order: `{"text"}`, or `{"image", "name"}`."""
    actions: dict[str, list[float]] = field(default_factory=dict)
    progress: list[float | None] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        pictures = [piece["image"] for piece in self.prompt if "image" in piece]
        return [name for name in (self.video, self.strip, *pictures) if name]


def choose(run: Run, which: str, pairs: Pairs | None = None) -> list[int]:
    """Rows to film: `all`, `unsolved`, `none`, or of each task the first N that are unsolved, perturbed, flipped.

    `pairs` are with an earlier run. Repeats are filmed only with `all`, and errors never.
    """
    table = run.table
    if which == "none":
        return []
    if which == "all":
        return _numbers(table.outcome != ERROR)
    import numpy as np

    limit = None if which == "unsolved" else int(which)
    flips = np.zeros(len(table), dtype=np.int8)
    if pairs is not None:
        flips[table.repeat == 0] = pairs.flips()
    chosen: list[int] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in _numbers(((table.outcome == UNSOLVED) & (table.repeat == 0)) | (flips != 0)):
        cell, kind = table.cells[table.cell[row]], FLIPS.get(int(flips[row]), "unsolved")
        group = (cell.suite, cell.task, f"{kind}, perturbed" if cell.perturbation else kind)
        counts[group] += 1
        if limit is None or counts[group] <= limit:
            chosen.append(row)
    return chosen


def _numbers(rows: NDArray[np.bool_]) -> list[int]:
    numbers: list[int] = rows.nonzero()[0].tolist()
    return numbers


def make_films(
    run: Run,
    rows: Sequence[int],
    folder: Path,
    tell: Callable[[str], None] = lambda line: None,
    trust: bool = False,
    media: Media | None = None,
) -> dict[str, Film]:
    """A film of each of these rows of the run by its episode id; what lies there, or in the media, is not made."""
    films: dict[str, Film] = {}
    with Replayer(run, trust=trust) as replayer:
        for number, record in enumerate(run.records(rows), start=1):
            film = _kept(folder, record)
            if film is None and media is not None and media.fetch(folder, record):
                film = _kept(folder, record)
            if film is None:
                tell(f"filming {number} of {len(rows)}: {record.key}")
                film = make_film(replayer, record, folder)
            films[film.episode] = film
    return films


class Repeating(Protocol):
    """Who can run an episode once more with the actions that were recorded."""

    def run_actions(self, record: Record, on_step: Callable[[Step], None]) -> Result: ...


def make_film(replayer: Repeating, record: Record, folder: Path) -> Film:
    """One film; whatever keeps it from being made is said in its note, never raised."""
    folder.mkdir(parents=True, exist_ok=True)
    shooting = _Shooting(record, folder)
    try:
        film = shooting.finish(replayer.run_actions(record, shooting.add))
    except Exception as error:  # any suite, simulator or codec may fail here, and a report must not
        lines = str(error).strip().splitlines() or [""]
        film = Film(str(record.key), record.result.digest, f"no film: {type(error).__name__}: {lines[0]}")
    finally:
        shooting.close()
    _sidecar(folder, record).write_text(json.dumps({"format": FORMAT, **asdict(film)}), encoding="utf-8")
    return film


class _Shooting:
    """One episode while it is filmed: frames go to the file as they come, only a few are kept for the strip."""

    def __init__(self, record: Record, folder: Path) -> None:
        from pytest_vla.report.video import VideoWriter

        self.record, self.folder = record, folder
        self.name = media_name(record)
        self.tape = Tape()
        self.video = VideoWriter(folder / f"{self.name}.mp4", record.result.steps + 1)
        self.prompt: list[dict[str, str]] = []
        self.instruction = ""
        self.kept: dict[int, Image] = {}
        steps = record.result.steps
        count = min(STRIP_FRAMES, steps + 1)
        self.wanted = {round(number * steps / max(count - 1, 1)) for number in range(count)}

    def add(self, step: Step) -> None:
        from pytest_vla.pictures import captioned, tile

        self.tape.add(step.action, step.progress)
        number = len(self.tape.actions)
        observation = step.observation if isinstance(step.observation, dict) else {}
        if step.action is None:
            self.instruction = str(observation.get("instruction", ""))
            self.prompt = self._prompt(observation.get("prompt"))
        picture = tile(observation.get("images") or {})
        if picture is not None:
            self.video.add(captioned(picture, self._caption(step, number)))
            if number in self.wanted:
                self.kept[number] = picture

    def finish(self, result: Result) -> Film:
        from pytest_vla.pictures import strip

        self.video.close()
        strip_name = None
        if self.kept:
            strip_name = f"{self.name}.jpg"
            strip(list(self.kept.values())).save(self.folder / strip_name, quality=82)
        return Film(
            episode=str(self.record.key),
            digest=self.record.result.digest,
            note=self._note(result),
            video=self.video.path.name if self.video.frames else None,
            strip=strip_name,
            shown=list(self.kept),
            prompt=self.prompt,
            actions=flat_columns(decode_actions(encode_actions(self.tape.actions))),
            progress=[None if value is None else round(value, 4) for value in self.tape.progress],
        )

    def close(self) -> None:
        self.video.close()

    def _note(self, result: Result) -> str:
        notes = []
        if not is_same(self.record.result, result):
            told = f"{result.outcome} ({result.reason})" if result.reason else result.outcome
            notes.append(f"simulated again it was {told} and went through other states: the film is not the episode")
        if not self.video.frames:
            notes.append("no film: this suite has no cameras")
        return "; ".join(notes)

    def _caption(self, step: Step, number: int) -> Any:
        from pytest_vla.pictures import Caption

        recorded = self.record.result
        return Caption(
            instruction=self.instruction,
            step=number,
            steps=recorded.steps,
            progress=step.progress,
            success=step.success,
            perturbation=self.record.key.perturbation,
            ending=recorded.ending if number == recorded.steps else "",
        )

    def _prompt(self, prompt: Any) -> list[dict[str, str]]:
        """A multimodal prompt in pieces, its pictures saved; a plain instruction has none."""
        from pytest_vla.pictures import tile

        pieces: list[dict[str, str]] = []
        for piece in prompt.pieces() if hasattr(prompt, "pieces") else ():
            picture = tile(getattr(piece.image, "rgb", {})) if piece.image is not None else None
            if picture is None:
                pieces.append({"text": piece.text})
                continue
            name = f"{self.name}-prompt{len(pieces)}.png"
            picture.save(self.folder / name, optimize=True)
            pieces.append({"image": name, "name": piece.text})
        return pieces


def media_name(record: Record) -> str:
    """Short, safe on any file system, and different for episodes that went differently."""
    text = f"{record.key}\0{record.result.digest}\0{record.result.steps}"
    slug = re.sub(r"[^A-Za-z0-9]+", "_", f"{record.key.task}-{record.key.index}").strip("_")[:40]
    return f"{slug}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def _sidecar(folder: Path, record: Record) -> Path:
    return folder / f"{media_name(record)}.json"


def _kept(folder: Path, record: Record) -> Film | None:
    """The film made earlier, if it and its files are still there."""
    try:
        data = json.loads(_sidecar(folder, record).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if data.pop("format", None) != FORMAT or data["note"].startswith("no film"):
        return None
    film = Film(**data)
    return film if all((folder / name).is_file() for name in film.files) else None
