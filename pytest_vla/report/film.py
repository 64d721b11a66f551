"""Films of episodes, drawn by simulating them again from the run file: recording costs the run itself nothing."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.inference.session import recorded_source
from pytest_vla.replay import suite_of
from pytest_vla.report.runfile import Record, Run
from pytest_vla.report.table import in_episode_order
from pytest_vla.report.tape import Recorded
from pytest_vla.rollout import Step, Surroundings, rollout, surroundings
from pytest_vla.run.trace import Tape, decode_actions, encode_actions, flat_columns
from pytest_vla.suite import Suite

if TYPE_CHECKING:
    import gymnasium
    from PIL.Image import Image

    from pytest_vla.policies import Policy, PolicySource

FORMAT = 1
DEFAULT_VIDEOS = "2"  # unsolved episodes per task
STRIP_FRAMES = 8


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


def episode_id(record: Record) -> str:
    """The name of an episode in links, file names and commands."""
    key = EpisodeKey(
        record["suite"], record["task"], record["partition"], record["index"], record.get("perturbation") or "",
        repeat=record.get("repeat") or 0,
    )  # fmt: skip
    return str(key)


def choose(records: Iterable[Record], which: str, other: Iterable[Record] = ()) -> list[Record]:
    """The episodes to film: `all`, `unsolved`, `none`, or of each task the first N unsolved, perturbed, flipped."""
    measured = [record for record in in_episode_order(records) if record["outcome"] != "error"]
    if which in ("all", "none"):
        return measured if which == "all" else []
    before = {episode_id(record): record["outcome"] for record in other}
    limit = None if which == "unsolved" else int(which)
    chosen: list[Record] = []
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for record in measured:
        old = before.get(episode_id(record))
        flipped = old is not None and old not in ("error", record["outcome"])
        if record["outcome"] != "unsolved" and not flipped:
            continue
        kind = f"{old} to {record['outcome']}" if flipped else "unsolved"
        group = (record["suite"], record["task"], f"{kind}, perturbed" if record.get("perturbation") else kind)
        counts[group] += 1
        if limit is None or counts[group] <= limit:
            chosen.append(record)
    return chosen


def make_films(
    run: Run, records: Sequence[Record], folder: Path, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Film]:
    """A film of each record by its episode id; those that lie in the folder already are not made again."""
    films: dict[str, Film] = {}
    with Studio(run) as studio:
        for number, record in enumerate(records, start=1):
            film = _kept(folder, record)
            if film is None:
                tell(f"filming {number} of {len(records)}: {episode_id(record)}")
                film = studio.film(record, folder)
            films[film.episode] = film
    return films


class Studio:
    """Simulates episodes of one run again, with environments kept from one to the next."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._envs: dict[tuple[str, str], gymnasium.Env[Any, Any]] = {}
        self._source: PolicySource | None = None

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        while self._envs:
            self._envs.popitem()[1].close()

    def film(self, record: Record, folder: Path) -> Film:
        """One film; whatever keeps it from being made is said in its note, never raised."""
        folder.mkdir(parents=True, exist_ok=True)
        shooting = _Shooting(record, folder)
        try:
            result = self.watch(record, shooting.add)
            film = shooting.finish(result)
        except Exception as error:  # any suite, simulator or codec may fail here, and a report must not
            lines = str(error).strip().splitlines() or [""]
            film = Film(episode_id(record), record["digest"], f"no film: {type(error).__name__}: {lines[0]}")
        finally:
            shooting.close()
        _sidecar(folder, record).write_text(json.dumps({"format": FORMAT, **asdict(film)}), encoding="utf-8")
        return film

    def watch(self, record: Record, on_step: Callable[[Step], None]) -> Result:
        """Run the episode of a record again with its recorded actions or, without them, with the policy of the run."""
        suite = suite_of(record)
        if suite.version != record["version"]:
            raise ValueError(f"recorded with version {record['version']} of '{suite.name}', here is {suite.version}")
        key = suite.episode(record["task"], record["partition"], record["index"], record.get("perturbation") or "")
        with _listening(on_step):
            env = self._env(suite, key.task)
            return rollout(self._policy(record, suite, env), env, key)

    def _env(self, suite: Suite, task: str) -> gymnasium.Env[Any, Any]:
        group = (suite.name, suite.env_group(task))
        if group not in self._envs:
            self._envs[group] = suite.make_env(task)
        return self._envs[group]

    def _policy(self, record: Record, suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
        if record.get("actions"):
            return Recorded(record["actions"])
        if self._source is None:
            made = self.run.provenance
            self._source = recorded_source(made["policy"]["text"], made.get("options", {}))
        return self._source.bind(suite, env)


class _Shooting:
    """One episode while it is filmed: frames go to the file as they come, only a few are kept for the strip."""

    def __init__(self, record: Record, folder: Path) -> None:
        from pytest_vla.report.video import VideoWriter

        self.record, self.folder = record, folder
        self.name = media_name(record)
        self.tape = Tape()
        self.video = VideoWriter(folder / f"{self.name}.mp4", record["steps"] + 1)
        self.prompt: list[dict[str, str]] = []
        self.instruction = ""
        self.kept: dict[int, Image] = {}
        steps = record["steps"]
        count = min(STRIP_FRAMES, steps + 1)
        self.wanted = {round(number * steps / max(count - 1, 1)) for number in range(count)}

    def add(self, step: Step) -> None:
        from pytest_vla.report.frames import captioned, tile

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
        from pytest_vla.report.frames import strip

        self.video.close()
        strip_name = None
        if self.kept:
            strip_name = f"{self.name}.jpg"
            strip(list(self.kept.values())).save(self.folder / strip_name, quality=82)
        return Film(
            episode=episode_id(self.record),
            digest=self.record["digest"],
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
        if (result.outcome, result.digest) != (self.record["outcome"], self.record["digest"]):
            told = f"{result.outcome} ({result.reason})" if result.reason else result.outcome
            notes.append(f"simulated again it was {told} and went through other states: the film is not the episode")
        if not self.video.frames:
            notes.append("no film: this suite has no cameras")
        return "; ".join(notes)

    def _caption(self, step: Step, number: int) -> Any:
        from pytest_vla.report.frames import Caption

        record = self.record
        reason = f": {record['reason']}" if record["reason"] else ""
        return Caption(
            instruction=self.instruction,
            step=number,
            steps=record["steps"],
            progress=step.progress,
            success=step.success,
            perturbation=record.get("perturbation") or "",
            ending=f"{record['outcome']}{reason}" if number == record["steps"] else "",
        )

    def _prompt(self, prompt: Any) -> list[dict[str, str]]:
        """A multimodal prompt in pieces, its pictures saved; a plain instruction has none."""
        from pytest_vla.report.frames import tile

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


@contextmanager
def _listening(on_step: Callable[[Step], None]) -> Any:
    token = surroundings.set(Surroundings(on_step=on_step))
    try:
        yield
    finally:
        surroundings.reset(token)


def media_name(record: Record) -> str:
    """Short, safe on any file system, and different for episodes that went differently."""
    text = f"{episode_id(record)}\0{record['digest']}\0{record['steps']}"
    slug = re.sub(r"[^A-Za-z0-9]+", "_", f"{record['task']}-{record['index']}").strip("_")[:40]
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
