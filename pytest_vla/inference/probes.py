"""What-if questions to the process that holds a model: the same moment with changed inputs, weights or activations.

A probe is an observation with a `probe` in it, so that it takes the way that every observation takes, through shared
memory or not. It holds many rows, which are answered in batches from copies of the episode's state: the episode itself
goes on as if nobody had asked.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.compute import modules_of

if TYPE_CHECKING:
    from pytest_vla.inference.engine import Engine, Episode, Job

PROBE = "probe"
MOST_ROWS = 256  # of one call: a map of 16 x 16 patches
FRESH_ROWS = 8  # where each row is an episode of its own, perhaps with a connection of its own


class ProbeError(PolicyError):
    """What was asked cannot be asked of this policy."""


def is_probe(observation: Any) -> bool:
    return (type(observation) is dict or isinstance(observation, Mapping)) and PROBE in observation


def rows_in(observation: Any) -> int:
    """How many answers are asked for: a probe is as many as it has rows."""
    return max(len(observation.get("rows", ())), 1) if is_probe(observation) else 1


def packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows as a probe has them: the first one whole, of the others what is not the very same object in it."""
    base = rows[0]
    return {"base": base, "rows": [_difference(base, row) for row in rows]}


def unpacked(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_merged(request["base"], changes) for changes in request["rows"]]


def _difference(base: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        there = base.get(key)
        if value is there:
            continue
        if key == "images" and isinstance(there, Mapping):
            value = {name: image for name, image in value.items() if image is not there.get(name)}
        found[key] = value
    return found


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    made = {**base, **changes}
    if "images" in changes and "images" in base:
        made["images"] = {**base["images"], **changes["images"]}
    return made


# --- in the process of the model -------------------------------------------------------------------------------------


def answer_probe(engine: Engine, job: Job) -> dict[str, Any]:
    """The answer to one probe, a plain tree; PolicyError where it cannot be given."""
    request = job.observation
    match request[PROBE].get("ask"):
        case "about":
            return _about(engine)
        case "rows":
            return _rows(engine, job.episode, request)
        case "units":
            return _units(engine, job.episode, request)
    raise ProbeError(f"a probe asks for {request[PROBE].get('ask')!r}; it can ask for about, rows or units")


def _about(engine: Engine) -> dict[str, Any]:
    policy = engine.policy
    here = sum(each.numel() for module in modules_of(policy) for each in module.parameters())
    parameters = here or int(getattr(policy, "described", {}).get("parameters", 0))
    return {
        "log_prob": callable(getattr(policy, "log_prob", None)),
        "masks_text": bool(getattr(policy, "masks_text", False)),
        "parameters": parameters,
    }


def _rows(engine: Engine, episode: Episode, request: Mapping[str, Any]) -> dict[str, Any]:
    """Actions of the rows, or how likely the clean action is in each of them."""
    asked, rows = request[PROBE], unpacked(request)
    with shuffled(engine.policy, asked["shuffle"]) if "shuffle" in asked else nullcontext():
        clean = request.get("clean")
        if clean is None:
            clean = actions_of(engine, episode, rows[:1])[0]
        answer: dict[str, Any] = {"clean": clean}
        if asked.get("actions", True):
            answer["actions"] = actions_of(engine, episode, rows)
        if asked.get("scores", False):
            answer["scores"] = scores_of(engine, episode, rows, clean)
    return answer


def actions_of(engine: Engine, episode: Episode, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the policy would do in each row, were the episode at this point."""
    from pytest_vla.inference.engine import Failure, Job
    from pytest_vla.tree import flatten, signature

    answers: list[Any] = []
    most = MOST_ROWS if _can_be_copied(episode.state) else FRESH_ROWS
    for start in range(0, len(rows), most):
        part = rows[start : start + most]
        kinds = [signature(flatten(row)[0]) if engine.fixed > 1 else None for row in part]
        jobs = [Job(_fork(engine, episode), row, kind) for row, kind in zip(part, kinds, strict=True)]
        for answer in engine.answer(jobs):
            if isinstance(answer, Failure):
                raise PolicyError(answer.message)
            answers.append(answer)
    return answers


def scores_of(engine: Engine, episode: Episode, rows: Sequence[Mapping[str, Any]], clean: Any) -> Any:
    """The log-likelihood of the clean action in each row."""
    from pytest_vla.inference.engine import one_thread, seeded, without_gradients

    policy: Any = engine.policy
    if engine.fixed:
        one_thread()
    found: list[float] = []
    size = engine.fixed or MOST_ROWS
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        padded = [*part, *[rows[0]] * (size - len(part))] if engine.fixed else part
        states = [_fork(engine, episode).state for _ in padded]
        with without_gradients(), seeded(episode):
            scores = policy.log_prob(padded, states, [clean] * len(padded))
        found += [float(score) for score in scores][: len(part)]
    return np.array(found, np.float64)


def _fork(engine: Engine, episode: Episode) -> Episode:
    """The episode's state once more; a new one where it cannot be copied, as that of a policy in another process."""
    from pytest_vla.inference.engine import Episode

    try:
        state = copy.deepcopy(episode.state)
    except Exception:
        state = engine.policy.reset(episode.key)
    return Episode(episode.key, state, episode.step, begun=True)


def _can_be_copied(state: Any) -> bool:
    try:
        copy.deepcopy(state)
    except Exception:
        return False
    return True


def shuffled(policy: Any, seed: int) -> AbstractContextManager[None]:
    """The policy with the numbers of each of its parameters in a random order: it has learnt nothing."""
    from pytest_vla.inference import units

    elsewhere = getattr(policy, "shuffled", None)  # a policy whose modules are in a process of its own
    if callable(elsewhere):
        there: AbstractContextManager[None] = elsewhere(units.__file__, seed)
        return there
    modules = modules_of(policy)
    if not any(True for module in modules for _ in module.parameters()):
        raise ProbeError("this policy is no torch model in the server's process: it has no weights to be shuffled")
    return units.shuffled(modules, seed)


def _units(engine: Engine, episode: Episode, request: Mapping[str, Any]) -> dict[str, Any]:
    """Which activations of the clean run bring the clean action back in a corrupted one."""
    from pytest_vla.inference import units
    from pytest_vla.inference.engine import one_thread, seeded, without_gradients

    clean, corrupted = unpacked(request)[:2]
    named = tuple(request[PROBE].get("named", ()))
    policy: Any = engine.policy
    elsewhere = getattr(policy, "restore_units", None)  # a policy whose modules are in a process of its own
    if engine.fixed:
        one_thread()
    try:
        with without_gradients(), seeded(episode):
            if callable(elsewhere):
                found: dict[str, Any] = elsewhere(units.__file__, clean, corrupted, _fork(engine, episode).state, named)
                return found
            return units.restored_in(policy, clean, corrupted, episode.state, named)
    except units.UnitError as error:
        raise ProbeError(str(error)) from None
