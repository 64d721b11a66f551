"""The policy behind every way of asking it: states per episode, errors that stay with their request, fixed shapes."""

from __future__ import annotations

import copy
import sys
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.inference.probes import answer_probe, is_probe
from pytest_vla.policies.base import Policy, PolicyError

MAX_ERROR_TEXT = 20_000  # characters
TRIALS = 16  # a model that does depend on the row showed it in half of all single trials
_AS_IT_IS = nullcontext()
CHEAP_S = 1e-3  # a copy of a row's state that takes no longer is made before every call of several rows


@dataclass(slots=True)
class Episode:
    """What the policy remembers of one running episode."""

    key: EpisodeKey
    state: Any = None
    step: int = 0
    begun: bool = False
    prompt: Any = None

    @property
    def remark(self) -> str:
        """What the policy has to say of it."""
        return str(getattr(self.state, "remark", ""))


@dataclass(slots=True)
class Job:
    """One observation that wants an action. Jobs with equal `kind` (shapes and types) may share a batch."""

    episode: Episode
    observation: Any
    kind: Hashable = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job has no action: a reason of `ERROR_REASONS` and a text for a person."""

    reason: str
    message: str


@dataclass(slots=True)
class Engine:
    """Calls one policy with batches.

    With `fixed`, every call has exactly that many rows, and the same row gives the same bits wherever it stands and
    whatever its neighbours are. Few models do so by nature (a matrix product may add in another order in its last
    rows), so each kind of observation is first tried with random ones. A policy that fails, or draws from a global
    random generator, is called row by row instead, with that generator seeded by episode and step.

    A call of several rows that raises is tried again row by row, from copies of the states. Where copies are dear they
    are only made once there was a call that raised; the episodes of that call begin again.
    """

    policy: Policy
    fixed: int = 0
    alive: Callable[[], None] = lambda: None  # called between trials, which are no part of anybody's time
    largest: int = 0  # rows that fitted into memory, 0 until a batch did not
    row_by_row: int = 0  # jobs that were a call of their own though a batch is fixed
    draws: bool = False  # whether it draws from a global random generator
    unseeded: int = 0  # jobs whose draws depended on who else was in their call
    copies: bool = True  # whether states are copied before a call of several rows
    _raised: bool = False
    _watches: int = 8  # calls that are still to be watched for draws
    _templates: dict[Hashable, Any] = field(default_factory=dict)
    _by_row: set[Hashable] = field(default_factory=set)

    def answer(self, jobs: Sequence[Job]) -> list[Any]:
        """An action or a Failure for each job, in the same order."""
        if jobs and _are_alike(jobs):
            return self._called(jobs)
        answers: list[Any] = [None] * len(jobs)
        groups: dict[Hashable, list[int]] = {}
        for index, job in enumerate(jobs):
            failure = None if job.episode.begun else self._begin(job.episode)
            if failure is not None:
                answers[index] = failure
            elif is_probe(job.observation):
                answers[index] = self._probed(job)
            else:
                groups.setdefault(job.kind, []).append(index)
        for indices in groups.values():
            group = [jobs[index] for index in indices]
            for index, answer in zip(indices, self._called(group), strict=True):
                answers[index] = answer
        return answers

    def _called(self, jobs: Sequence[Job]) -> list[Any]:
        return self._fixed(jobs) if self.fixed else self._free(jobs)

    def seconds(self, job: Job, size: int) -> float:
        """How long one call with `size` rows like this job takes; nobody's episode is touched."""
        template = copy.deepcopy(job.observation)
        rows = [Job(self._spare(job), template) for _ in range(size)]
        start = perf_counter()
        self._act(rows)
        return perf_counter() - start

    def _probed(self, job: Job) -> Any:
        """The answer to a what-if question; the episode is left as it is."""
        try:
            return answer_probe(self, job)
        except Exception as error:
            return failure_of(error)

    def _begin(self, episode: Episode) -> Failure | None:
        try:
            with without_gradients(), seeded(episode):
                episode.state = self.policy.reset(episode.key)
        except Exception as error:
            return failure_of(error)
        episode.begun = True
        return None

    # --- any number of rows ------------------------------------------------------------------------------------------

    def _free(self, jobs: Sequence[Job]) -> list[Any]:
        """One call for all; when it raises, smaller ones, until only those that are to blame have failed."""
        fitting = self.largest or len(jobs)
        if len(jobs) > fitting:
            return self._free(jobs[:fitting]) + self._free(jobs[fitting:])
        saved = self._saved(jobs)
        try:
            if not (self.draws or self._watches):
                return self._act(jobs)
            with self._watched(jobs):
                return self._act(jobs)
        except Exception as error:
            failure = failure_of(error)
            if len(jobs) == 1:
                return [failure]
            if saved is None:
                return self._begun_again(failure, jobs)
            parts = len(jobs)
            if _is_out_of_memory(error):
                self.largest, parts = max(len(jobs) // 2, 1), 2
        for job, state in zip(jobs, saved, strict=True):
            job.episode.state = state
        size = -(-len(jobs) // parts)
        return [answer for i in range(0, len(jobs), size) for answer in self._free(jobs[i : i + size])]

    def _act(self, jobs: Sequence[Job]) -> list[Any]:
        with without_gradients():
            actions = self.policy.act([job.observation for job in jobs], [job.episode.state for job in jobs])
        for job in jobs:
            job.episode.step += 1
        return [failure_of(a) if isinstance(a, Exception) else a for a in checked(actions, len(jobs))]

    # --- always the same number of rows ------------------------------------------------------------------------------

    def _fixed(self, jobs: Sequence[Job]) -> list[Any]:
        if self.fixed == 1:
            one_thread()
            return [answer for job in jobs for answer in self._padded([job], 1)]
        kind = jobs[0].kind
        if kind not in self._templates:
            self._templates[kind] = copy.deepcopy(jobs[0].observation)
            one_thread()
            if self.fixed > 1 and not self._ignores_company(jobs[0]):
                self._by_row.add(kind)
        size = self.fixed
        if kind in self._by_row:
            size, self.row_by_row = 1, self.row_by_row + len(jobs)
        answers: list[Any] = []
        for i in range(0, len(jobs), size):
            answers += self._padded(jobs[i : i + size], size)
        return answers

    def _padded(self, jobs: Sequence[Job], size: int) -> list[Any]:
        pads = [Job(self._spare(jobs[0]), self._templates[jobs[0].kind]) for _ in range(size - len(jobs))]
        saved = self._saved(jobs)
        with seeded(jobs[0].episode) if size == 1 else nullcontext():
            try:
                return self._act([*jobs, *pads])[: len(jobs)]
            except Exception as error:
                failure = failure_of(error)
                if len(jobs) == 1:
                    return [failure]
                if saved is None:
                    return self._begun_again(failure, jobs)
        for job, state in zip(jobs, saved, strict=True):
            job.episode.state = state
        return [answer for job in jobs for answer in self._padded([job], size)]

    # --- going back --------------------------------------------------------------------------------------------------

    def _saved(self, jobs: Sequence[Job]) -> list[Any] | None:
        """States to go back to should a call of several rows raise half way; None where there are none to be had."""
        if len(jobs) == 1:
            return None
        states = [job.episode.state for job in jobs]
        if states.count(None) == len(states):
            return states
        if not self.copies:
            return None
        start = perf_counter()
        try:
            saved = [copy.deepcopy(state, _shared(self.policy)) for state in states]
        except Exception:
            self.copies = False
            return None
        self.copies = self._raised or perf_counter() - start <= CHEAP_S * len(jobs)
        return saved

    def _begun_again(self, failure: Failure, jobs: Sequence[Job]) -> list[Any]:
        """Who is to blame cannot be known any more: every episode of the call begins again, and from now on it can."""
        if self._raised:  # states that cannot be copied at all
            return [failure] * len(jobs)
        self._raised = self.copies = True
        text = f"a call of {len(jobs)} rows raised, and their states were not copied: {failure.message}"
        return [Failure("server_lost", text[:MAX_ERROR_TEXT])] * len(jobs)

    @contextmanager
    def _watched(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Seed global generators for a policy that draws from them, where that is possible; else count it.

        Whether it does is seen in its first calls: seeding takes longer than many a small model.
        """
        self._watches = max(self._watches - 1, 0)
        with seeded(jobs[0].episode) if len(jobs) == 1 else nullcontext():
            before = None if self.draws else _generators()
            yield
            self.draws = self.draws or _generators() != before
        self.unseeded += len(jobs) if self.draws and len(jobs) > 1 else 0

    def _ignores_company(self, job: Job) -> bool:
        """Whether an observation gives the same bits in any row and next to any others, as far as trials can tell.

        The trials do not depend on the numbers at hand, so that every run comes to the same answer.
        """
        import numpy as np

        rng, template = np.random.default_rng(0), self._templates[job.kind]
        try:
            for trial in range(TRIALS):
                observation = _scrambled(template, rng)
                company = [_scrambled(template, rng, words=1 + int(rng.integers(4))) for _ in range(self.fixed)]
                row = trial % self.fixed
                self.alive()
                company[row] = observation
                alone, together = self._trial(job, [observation] * self.fixed), self._trial(job, company)
                if _bits(alone[0]) != _bits(together[row]):
                    return False
        except Exception:
            return False  # a policy that cannot take random numbers cannot be tried
        return True

    def _trial(self, job: Job, observations: list[Any]) -> list[Any]:
        return self._act([Job(self._spare(job), observation) for observation in observations])

    def _spare(self, job: Job) -> Episode:
        """A new state nobody will miss, for a row nobody asked for."""
        if job.episode.state is None:
            return Episode(job.episode.key, begun=True)
        return Episode(job.episode.key, self.policy.reset(job.episode.key), begun=True)


def _are_alike(jobs: Sequence[Job]) -> bool:
    """Whether all are of one kind, and steps of episodes that have begun: so it is at nearly every call."""
    kind = jobs[0].kind
    return all(job.kind is kind and job.episode.begun and not is_probe(job.observation) for job in jobs)


def checked(actions: Any, count: int) -> list[Any]:
    """The actions as a list, or a PolicyError when there is not one for each observation."""
    try:
        listed = list(actions)
    except TypeError:
        raise PolicyError(f"act() must return a list of actions, got {type(actions).__name__}") from None
    if len(listed) != count:
        plural = "s" if count != 1 else ""
        raise PolicyError(
            f"act() got {count} observation{plural} and returned {len(listed)} actions; it must return one for each"
        )
    return listed


def failure_of(error: Exception) -> Failure:
    """What a person should read of an exception; one of ours says all in its text, of any other the traceback helps."""
    if isinstance(error, EpisodeError):
        return Failure(error.reason, str(error)[:MAX_ERROR_TEXT])
    if isinstance(error, PolicyError):
        return Failure("policy_error", str(error)[:MAX_ERROR_TEXT])
    text = "".join(traceback.format_exception(error)).rstrip()
    return Failure("policy_error", text[-MAX_ERROR_TEXT:])


def _shared(policy: Any) -> dict[int, Any]:
    """What a copy of a state refers to as the state does: the policy and its model."""
    parts = [policy, *getattr(policy, "__dict__", {}).values()]
    return {id(part): part for part in parts if part is policy or hasattr(part, "state_dict") or callable(part)}


def _generators() -> tuple[Any, ...]:
    """The states of global generators, to be compared; torch's where it is in use."""
    import random

    import numpy as np

    torch = sys.modules.get("torch")
    drawn = np.random.get_state(legacy=False)["state"]
    own = torch.get_rng_state().numpy().tobytes() if torch is not None and hasattr(torch, "get_rng_state") else b""
    return random.getstate()[1][-1], drawn["key"].tobytes(), drawn["pos"], own


def _scrambled(tree: Any, rng: Any, words: int = 1) -> Any:
    """The same observation with random pixels and measurements; texts are repeated, other whole numbers kept."""
    import numpy as np

    if isinstance(tree, Mapping):
        return {key: _scrambled(part, rng, words) for key, part in tree.items()}
    if isinstance(tree, list):
        return [_scrambled(part, rng, words) for part in tree]
    if isinstance(tree, str):
        return " ".join([tree] * words)
    if isinstance(tree, np.ndarray) and tree.dtype == np.uint8:
        return rng.integers(0, 256, tree.shape, np.uint8)
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "f":
        return rng.standard_normal(tree.shape).astype(tree.dtype)
    return copy.deepcopy(tree)


def _bits(action: Any) -> Any:
    from pytest_vla.tree import flatten

    skeleton, arrays = flatten(action, "action")
    return skeleton, [array.tobytes() for array in arrays]


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


def without_gradients() -> AbstractContextManager[Any]:
    """Without gradients where torch is in use, and they are not off already; torch is never imported for it."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "inference_mode") or torch.is_inference_mode_enabled():
        return _AS_IT_IS
    return torch.inference_mode()  # type: ignore[no-any-return]


def one_thread() -> None:
    """How a sum is split over threads changes its last bits, and how many there are depends on the machine."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@contextmanager
def seeded(episode: Episode) -> Iterator[None]:
    """Global random generators as a function of episode and step, for policies that draw from them."""
    import random

    import numpy as np

    seed = (episode.key.seed("policy") + episode.step) % 2**32
    before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
