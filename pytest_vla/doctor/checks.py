"""What must hold of any policy, asked on recorded observations: no simulator is needed, and it takes seconds."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.doctor.findings import Finding
from pytest_vla.policies.actions import parts_of
from pytest_vla.policies.compute import modules_of

if TYPE_CHECKING:
    from pytest_vla.doctor.recorded import Recorded
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.policies import Policy

ROWS = 6
STEPS = 4  # of two episodes that are played side by side
SAME = 2e-3  # of what the answers differ by among each other: sums in another order differ by far less
INPUTS = ("instruction", "images", "state")
WHAT = {"instruction": "instruction", "images": "picture", "state": "state"}
Row = tuple["EpisodeKey", Mapping[str, Any]]


@dataclass
class Checked:
    """What was found, and what else was seen."""

    findings: list[Finding]
    remarks: list[str]


class _Failed(Exception):
    """An answer that is none."""


def check(policy: Policy, recorded: Sequence[Recorded], fresh: Callable[[list[Row]], list[Any] | None]) -> Checked:
    """Ask all of it; `fresh` has rows answered in a new process, or gives None where that cannot be."""
    rows = _rows(recorded)
    made = Checked([], [])
    try:
        alone = [_ask(policy, [row])[0] for row in rows]
        _check_finite(alone)
    except _Failed as error:
        made.findings.append(_finding("broken", str(error), "mend the policy: no episode can be played", ""))
        return made
    near = _nearness(alone)
    repeatable = _check_repeatable(policy, rows, alone, near, made)
    if repeatable:
        _check_memory(policy, recorded, near, made)
        if not made.findings:
            _check_company(policy, rows, alone, near, made)
        if not made.findings:
            _check_fresh(rows, alone, near, fresh, made)
    if not made.findings:
        _check_reactions(policy, rows, alone, made)
    return made


def _rows(recorded: Sequence[Recorded]) -> list[Row]:
    """Moments of several episodes, of different instructions first, each at the start of its episode or amidst it."""
    seen: dict[str, Row] = {}
    more: list[Row] = []
    for number, episode in enumerate(recorded):
        places = {0, len(episode.observations) // 3} if number % 2 == 0 else {0}
        for place in sorted(places):
            row = (episode.key, episode.observations[place])
            text = str(row[1].get("instruction", ""))
            if text in seen:
                more.append(row)
            else:
                seen[text] = row
    return [*seen.values(), *more][:ROWS]


def _ask(policy: Policy, rows: Sequence[Row], states: Sequence[Any] | None = None) -> list[Any]:
    """The answers to these rows in one call, each as one vector; new episodes where no states are given."""
    try:
        if states is None:
            states = [policy.reset(key) for key, _ in rows]
        answers = list(policy.act([observation for _, observation in rows], states))
    except Exception as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise _Failed(f"act() raises {type(error).__name__}: {text[-1]}") from error
    if len(answers) != len(rows):
        raise _Failed(f"act() got {len(rows)} observations and returned {len(answers)} actions")
    for answer in answers:
        if isinstance(answer, Exception):
            raise _Failed(str(answer))
    return [_in_numbers(answer) for answer in answers]


def _in_numbers(answer: Any) -> Any:
    """An answer as one vector; words are numbers that are others for any other words."""
    try:
        return np.concatenate([*parts_of(answer).values()]).astype(np.float64)
    except (TypeError, ValueError):
        pass
    try:
        written = json.dumps(answer, sort_keys=True)
    except (TypeError, ValueError):
        raise _Failed(f"an action is neither numbers nor words: got {type(answer).__name__}") from None
    return np.frombuffer(sha256(written.encode()).digest(), np.uint8) / 255.0


def _check_finite(answers: Sequence[Any]) -> None:
    for answer in answers:
        if not np.isfinite(answer).all():
            raise _Failed(f"an action has numbers that are not finite: {answer[:8].tolist()}")


def _nearness(answers: Sequence[Any]) -> float:
    """How far apart answers may be and still count as the same."""
    if len({len(answer) for answer in answers}) > 1:
        return 1e-6
    stacked = np.stack(answers)
    return SAME * max(float(np.abs(stacked - stacked.mean(0)).max()), 1e-3 * float(np.abs(stacked).max()), 1e-9)


def _off(one: Sequence[Any], other: Sequence[Any]) -> list[float]:
    """The largest difference of each row."""
    return [float(np.abs(a - b).max()) if a.shape == b.shape else float("inf") for a, b in zip(one, other, strict=True)]


def _check_repeatable(policy: Policy, rows: list[Row], alone: list[Any], near: float, made: Checked) -> bool:
    """The same observation of the same episode, asked again, gets the same answer."""
    try:
        again = [_ask(policy, [row])[0] for row in rows]
        off = _off(alone, again)
        if max(off) <= near:
            return True
        with _seeded():
            one = _ask(policy, [rows[0]])[0]
        with _seeded():
            other = _ask(policy, [rows[0]])[0]
        seeded = max(_off([one], [other]))
    except _Failed as error:
        made.findings.append(_finding("broken", str(error), "mend the policy", f"asked a second time: {error}"))
        return False
    wrong = sum(each > near for each in off)
    evidence = f"{wrong} of {len(rows)} answers changed when asked again in a new episode, by up to {max(off):.3g}"
    mode = training_layers(policy)
    if mode:
        made.findings.append(_training(mode, evidence))
    elif seeded <= near:
        made.findings.append(_drawing(evidence))
    else:
        made.findings.append(
            _finding(
                "state_in_self",
                "it keeps something from one episode to the next",
                "keep what belongs to an episode in the state that reset() returns, not in self",
                f"{evidence}, though nothing that it was given did, and seeding does not help",
            )
        )
    return False


def _check_company(policy: Policy, rows: list[Row], alone: list[Any], near: float, made: Checked) -> None:
    """The same answer alone and in a batch, in any order of rows, whatever the others are told."""
    if len(rows) < 2:
        return
    try:
        together = _ask(policy, rows)
        backwards = _ask(policy, rows[::-1])[::-1]
    except _Failed as error:
        made.findings.append(
            _finding("batch", "it fails in a batch", "let act() take any number of rows", f"{len(rows)} rows: {error}")
        )
        return
    first, second = _off(alone, together), _off(alone, backwards)
    if max(first) <= near or max(second) <= near:  # one tie that falls the other way is no fault
        return
    wrong = sum(each > near for each in first)
    evidence = f"{wrong} of {len(rows)} answers differ from those alone, by up to {max(first):.3g}"
    mode = training_layers(policy)
    taken = next((name for name in INPUTS if _from_first(policy, rows, together, near, name)), None)
    if taken is not None:
        fault = f"every row of a batch gets the {WHAT[taken]} of row 0"
        cure = f"give each row its own {WHAT[taken]} in act()"
        evidence += f"; they are what each row answers alone with row 0's {WHAT[taken]}"
        made.findings.append(_finding(f"row0_{taken}", fault, cure, evidence))
    elif mode:
        made.findings.append(_training(mode, evidence))
    elif _draws(policy, rows, near):
        made.findings.append(_drawing(f"{evidence}, and from those of the same batch asked again"))
    else:
        fault = "answers depend on who else is in the batch"
        cure = "mask paddings, and let no row look at another; --vla-batch=1 avoids it"
        made.findings.append(_finding("batch", fault, cure, evidence))


def _draws(policy: Policy, rows: list[Row], near: float) -> bool:
    """Whether a batch is answered otherwise when asked again, and not with the global generators at the same place."""
    free = _off(_ask(policy, rows), _ask(policy, rows))
    with _seeded():
        one = _ask(policy, rows)
    with _seeded():
        other = _ask(policy, rows)
    return max(free) > near >= max(_off(one, other))


def _from_first(policy: Policy, rows: list[Row], together: list[Any], near: float, name: str) -> bool:
    """Whether a batch answered as if each row had an input of row 0."""
    swapped = [(key, {**observation, name: rows[0][1].get(name)}) for key, observation in rows]
    if all(_equal(row[1].get(name), rows[0][1].get(name)) for row in rows):
        return False
    try:
        return max(_off([_ask(policy, [row])[0] for row in swapped], together)) <= near
    except _Failed:
        return False


def _check_memory(policy: Policy, recorded: Sequence[Recorded], near: float, made: Checked) -> None:
    """Two episodes played in turns come out as each by itself."""
    if len(recorded) < 2:
        return
    one, other = recorded[0], recorded[1]
    try:
        by_itself = _along(policy, [one])[0]
        in_turns = _along(policy, [one, other])[0]
        again = _along(policy, [one])[0]
    except _Failed as error:
        made.findings.append(_finding("broken", str(error), "mend the policy", f"along an episode: {error}"))
        return
    off, after = max(_off(by_itself, in_turns)), max(_off(by_itself, again))
    if off > near or after > near:
        evidence = f"steps of an episode change by up to {max(off, after):.3g} when another one is played in between"
        made.findings.append(
            _finding(
                "state_in_self",
                "it keeps what belongs to an episode in itself",
                "keep it in the state that reset() returns: episodes of many workers share one policy object",
                evidence,
            )
        )


def _along(policy: Policy, recorded: Sequence[Recorded]) -> list[list[Any]]:
    """Answers along episodes whose steps alternate."""
    states = [policy.reset(episode.key) for episode in recorded]
    made: list[list[Any]] = [[] for _ in recorded]
    for step in range(STEPS):
        for number, episode in enumerate(recorded):
            if step < len(episode.observations):
                row = (episode.key, episode.observations[step])
                made[number] += _ask(policy, [row], [states[number]])
    return made


def _check_fresh(rows: list[Row], alone: list[Any], near: float, fresh: Any, made: Checked) -> None:
    """The same answers in a new process."""
    answers = fresh(rows[:2])
    if answers is None:
        return
    off = _off(alone[:2], answers)
    if max(off) > near:
        made.findings.append(
            _finding(
                "process",
                "it answers otherwise in a new process",
                "seed and fix whatever it makes when it is loaded",
                f"the same observations, asked in a process of their own, differ by up to {max(off):.3g}",
            )
        )


def _check_reactions(policy: Policy, rows: list[Row], alone: list[Any], made: Checked) -> None:
    """It reacts to what it is given; a picture that it asks for and never looks at is a fault."""
    if len(rows) < 2:
        return
    spec = policy.spec
    try:
        moved = {name: _reaction(policy, rows, alone, name) for name in INPUTS}
    except _Failed as error:
        made.remarks.append(f"whether it reacts to its inputs is not known: {error}")
        return
    constant = len({len(answer) for answer in alone}) == 1 and max(_off(alone, [alone[0]] * len(alone))) == 0.0
    looks = bool(spec.cameras or spec.conventions.cameras)
    blind = looks and moved["images"] == 0.0
    if (constant or blind) and _arrives(policy, rows):
        what = "always gives the same action" if constant else "does not react to its pictures"
        made.remarks.append(f"it {what}, though they reach the model: that is its weights, not its wiring")
    elif constant:
        made.findings.append(
            _finding(
                "constant",
                "it always gives the same action",
                "check that what it is given reaches the model",
                f"{len(rows)} different observations, one answer",
            )
        )
    elif blind:
        made.findings.append(
            _finding(
                "blind",
                "it asks for pictures and does not react to them",
                "check that they reach the model",
                f"{len(rows)} observations with the pictures of others: not one number changed",
            )
        )
    for name in ("state", "instruction"):
        if moved[name] == 0.0:
            made.remarks.append(f"it does not react to the {WHAT[name]}")


def _reaction(policy: Policy, rows: list[Row], alone: list[Any], name: str) -> float | None:
    """The largest change when an input is that of another row; None where all are the same."""
    largest = None
    for number, (key, observation) in enumerate(rows):
        other = rows[(number + 1) % len(rows)][1]
        if name not in observation or name not in other or _equal(observation[name], other[name]):
            continue
        changed = {**observation, name: other[name]}
        if name == "images" and "segmentation" in observation:
            changed["segmentation"] = other["segmentation"]
        off = _off([alone[number]], _ask(policy, [(key, changed)]))[0]
        largest = max(largest or 0.0, off)
    return largest


def _arrives(policy: Policy, rows: list[Row]) -> bool:
    """Whether other pictures change anything inside the policy's own torch modules, where there are any to see."""
    layers = [layer for module in modules_of(policy) for layer in module.modules()]
    key, observation = rows[0]
    others = [other for _, other in rows[1:] if not _equal(observation.get("images"), other.get("images"))]
    if not layers or not others:
        return False

    def trace(observation: Mapping[str, Any]) -> list[float]:
        seen: list[float] = []

        def hear(layer: Any, inputs: Any, output: Any) -> None:
            seen.extend(float(t.double().abs().sum()) for t in (*inputs, output) if hasattr(t, "double"))

        hooks = [layer.register_forward_hook(hear) for layer in layers]
        try:
            _ask(policy, [(key, observation)])
        finally:
            for hook in hooks:
                hook.remove()
        return seen

    changed = {name: others[0][name] for name in ("images", "segmentation") if name in others[0]}
    return trace(observation) != trace({**observation, **changed})


def training_layers(policy: Any) -> str:
    """Layers of the policy's own torch modules that behave otherwise while training, and are left so."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ""
    kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
    for module in modules_of(policy):
        for layer in module.modules():
            if isinstance(layer, kinds) and layer.training and getattr(layer, "p", 1) != 0:
                return type(layer).__name__
    return ""


def _training(layer: str, evidence: str) -> Finding:
    return _finding("training_mode", f"{layer} is in training mode", "call eval() after loading", evidence)


def _drawing(evidence: str) -> Finding:
    fault, cure = "it reads a global random generator", 'draw from episode.rng("policy") in reset()'
    told = f"{evidence}; with the global generators seeded they are the same"
    return _finding("global_generator", fault, cure, told)


def _finding(name: str, fault: str, cure: str, evidence: str) -> Finding:
    return Finding(fault, cure, evidence, "", "asked on recorded observations, without a simulator", name)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


@contextmanager
def _seeded() -> Iterator[None]:
    """Global random generators at the same place, and afterwards where they were."""
    torch = sys.modules.get("torch")
    before = random.getstate(), np.random.get_state(), torch.get_rng_state() if torch is not None else None
    random.seed(0)
    np.random.seed(0)
    if torch is not None:
        torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        if torch is not None:
            torch.set_rng_state(before[2])
