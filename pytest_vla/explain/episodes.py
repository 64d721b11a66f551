"""Moments along a recorded episode: it is simulated once more, and the policy is asked where it looked then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_vla.explain.asking import Asker
from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.moment import Explained, Moment, Segments, Wishes, explain
from pytest_vla.explain.scores import Ruler
from pytest_vla.inference.local import kept
from pytest_vla.replay import Replayer, is_same, suite_of
from pytest_vla.rollout import Step

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey, Result
    from pytest_vla.policies import PolicySource, PolicySpec
    from pytest_vla.run import Record
    from pytest_vla.suite import Suite

UNKNOWN_LENGTH = 1000  # a chunk of so many actions is one whose server does not tell how long it is


@dataclass(frozen=True)
class Recording:
    """A recorded episode as it was seen, step by step, by the cameras that the policy looks through."""

    key: EpisodeKey
    cameras: tuple[str, ...]
    seen: Sequence[Mapping[str, Any]]
    segments: Mapping[int, Segments]
    space: Any
    note: str = ""


@dataclass(frozen=True)
class Episode:
    """One episode explained."""

    record: Record
    policy: str
    recording: Recording
    steps: Sequence[Explained]


def cameras_of(spec: PolicySpec, suite: Suite) -> tuple[str, ...]:
    """The suite's cameras that a policy is shown."""
    if spec.conventions.cameras:
        shown = [camera.shows or name for name, camera in spec.conventions.cameras.items()]
        return tuple(name for name in suite.cameras if name in shown) or tuple(suite.cameras)
    return spec.cameras or tuple(suite.cameras)


def looks(source: PolicySource, steps: int) -> list[int]:
    """The steps at which the policy is asked: the first of each chunk."""
    chunk = source.spec.chunk if source.spec.chunk < UNKNOWN_LENGTH else 1
    return list(range(0, max(steps, 1), min(source.horizon or chunk, chunk)))


def chosen(source: PolicySource, steps: int, wanted: str | int) -> list[int]:
    """Those that a person named: a number, `all`, or so many of them spread over the episode."""
    known = looks(source, steps)
    if wanted == "all":
        return known
    if isinstance(wanted, str):
        count = min(int(wanted), len(known))
        return sorted({known[round(number * (len(known) - 1) / max(count - 1, 1))] for number in range(count)})
    if wanted not in known:
        shown = ", ".join(map(str, known[:12])) + (", ..." if len(known) > 12 else "")
        raise ExplainError(f"the policy does not look at step {wanted} of this episode; it looks at step {shown}")
    return [wanted]


def record_episode(
    replayer: Replayer, record: Record, spec: PolicySpec, with_segments: Sequence[int] = ()
) -> Recording:
    """The episode simulated once more, by its recorded actions or else by its policy."""
    suite = suite_of(record, replayer.trust)
    cameras = cameras_of(spec, suite)
    seen: list[Mapping[str, Any]] = []
    segments: dict[int, Segments] = {}

    def on_step(step: Step) -> None:
        if len(seen) in with_segments:
            segments[len(seen)] = segments_of(suite, replayer.env_of(suite, record.key.task), cameras)
        seen.append(kept(step.observation, spec, cameras))

    result = replayer.run_actions(record, on_step)
    if not seen:
        raise ExplainError(f"the episode cannot be simulated again: {result}")
    space = replayer.env_of(suite, record.key.task).action_space
    return Recording(record.key, cameras, seen, segments, space, _note(record.result, result))


def segments_of(suite: Suite, env: Any, cameras: Sequence[str]) -> Segments:
    """What is where, by camera; nothing where the suite cannot say."""
    found = {}
    for camera in cameras:
        made = suite.segment(env, camera)
        if made is not None:
            found[camera] = made
    return found


def other_view(replayer: Replayer, record: Record, spec: PolicySpec) -> Mapping[str, Any] | None:
    """How another episode of the same task begins: the next one that is told something else."""
    suite = suite_of(record, replayer.trust)
    env = replayer.env_of(suite, record.key.task)
    first: Mapping[str, Any] | None = None
    told = record.result.instruction
    for index in range(record.key.index + 1, record.key.index + 5):
        key = suite.episode(record.key.task, record.key.partition, index)
        if suite.lacks(key) is not None:
            continue
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        view = kept(observation, spec, cameras_of(spec, suite))
        first = first or view
        if view.get("instruction") != told:
            return view
    return first


def explain_episode(
    source: PolicySource,
    replayer: Replayer,
    record: Record,
    wanted: str | int,
    wishes: Wishes,
    tell: Callable[[str], None] = lambda line: None,
) -> Episode:
    """Every chosen look of one episode."""
    suite = suite_of(record, replayer.trust)
    mismatch = source.spec.mismatch(suite, source.corrections)
    if mismatch:
        raise ExplainError(f"policy '{source.text}' cannot act in suite '{suite.name}': {mismatch}")
    asker = Asker(source, suite)
    steps = chosen(source, record.result.steps, wanted)
    tell(f"explain: simulating {record.key} ...")
    recording = record_episode(replayer, record, source.spec, steps)
    other = other_view(replayer, record, source.spec)
    ruler = Ruler(suite, recording.space, source.spec.chunk, source.spec.rotation)
    asker.begin(record.key)
    found: list[Explained] = []
    for look in looks(source, record.result.steps):
        if look > steps[-1] or look >= len(recording.seen):
            break
        seen = recording.seen[look]
        if look in steps:
            tell(f"explain: step {look} ...")
            moment = Moment(look, seen, recording.segments.get(look, {}), other)
            rng = record.key.rng(f"explain.{look}")
            found.append(explain(asker, ruler, moment, recording.cameras, wishes, rng))
        asker.advance(seen)
    return Episode(record, source.text, recording, found)


def _note(recorded: Result, again: Result) -> str:
    return "" if is_same(recorded, again) else "simulated again it went through other states than were recorded"
