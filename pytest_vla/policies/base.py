"""The policy contract: batched `act`, an opaque state per episode, and a declared spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.conventions import Conventions
from pytest_vla.policies.errors import PolicyError

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

__all__ = ["ENSEMBLES", "Observation", "Policy", "PolicyError", "PolicySpec", "pixels"]

Observation = Mapping[str, Any]
ENSEMBLES = ("newest", "mean", "exponential")


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """What a policy needs and gives. Empty means: no demand. Checked against the suite before the first episode."""

    suites: tuple[str, ...] = ()
    cameras: tuple[str, ...] = ()
    state_keys: tuple[str, ...] = ()
    state: bool = False  # whether all of the state is needed, as one vector, whatever its parts are called
    chunk: int = 1  # actions one answer holds; more than one stand along the first axis
    horizon: int | None = None  # how many actions of a chunk are meant to be executed; None: all
    ensemble: str | None = None  # what overlapping chunks are meant to become: one of ENSEMBLES; None: newest
    prompt: bool = False  # whether the multimodal prompt is needed: drawing and sending it costs
    rotation: str | None = None  # how its actions have rotations, where a suite takes several ways; None: its own
    scan: tuple[str, ...] = ()  # cameras whose depth, masks and matrices are needed: measuring them costs
    outputs: tuple[str, ...] = ()  # the types of answers it can give, where a suite asks questions; empty: any
    space: bool = False  # whether each observation is to say, as `space`, what an action is, in words
    image_sizes: Mapping[str, tuple[int, int]] = field(
        default_factory=dict
    )  # height and width by camera, where it matters
    state_size: int = 0  # how many numbers the state has, where `state` is needed; 0: any
    action_size: int = 0  # how many numbers an action has; 0: any
    trained_on: tuple[str, ...] = ()  # the tasks it was trained on, or is shown; empty: it does not say
    conventions: Conventions = field(default_factory=Conventions)  # what its numbers mean; empty: as the suite has it

    def __post_init__(self) -> None:
        if self.horizon is not None and self.horizon < 1:
            raise PolicyError(f"the execution horizon must be at least 1, got {self.horizon}")
        if self.ensemble not in (None, *ENSEMBLES):
            raise PolicyError(f"unknown ensemble {self.ensemble!r}; there are {', '.join(ENSEMBLES)}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PolicySpec:
        """The spec in a file; what only a later version knows is left out."""
        known: dict[str, Any] = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        for name in ("suites", "cameras", "state_keys", "scan", "outputs", "trained_on"):
            known[name] = tuple(known.get(name, ()))
        sizes = known.get("image_sizes") or {}
        known["image_sizes"] = {camera: (int(height), int(width)) for camera, (height, width) in sizes.items()}
        known["conventions"] = Conventions.from_dict(known.get("conventions") or {})
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """In built-in types; what came later only where said, so that digests made of this stay what they were."""
        made = asdict(self)
        del made["conventions"]
        for name in ("state_size", "action_size"):
            if not made[name]:
                del made[name]
        return {**made, "conventions": self.conventions.to_dict()} if self.conventions else made

    def mismatch(self, suite: Suite, corrections: Mapping[str, Any] | None = None) -> str | None:
        """Why this policy cannot act in `suite`, or None when it can; corrections are those of a person."""
        if self.suites and not {suite.name, *suite.plays_as} & set(self.suites):
            return f"the policy acts in {', '.join(self.suites)}, not in '{suite.name}'"
        from pytest_vla.policies.conventions.conversion import AMONG_ALL, misfit

        unconvertible = misfit(self.conventions, suite, corrections)
        if unconvertible is not None:
            return unconvertible
        converted = self.conventions
        theirs, ours = f"'{suite.name}'", "by its conventions, or a preset, it"
        cameras = [*converted.cameras, *(corrections or {}).get("cameras", ())]
        keys = [part.name or AMONG_ALL for part in converted.state]
        for what, wanted, whose, given in (
            ("rotation", (self.rotation,) if self.rotation else (), theirs, suite.rotations),
            ("camera", self.cameras, *((ours, cameras) if converted.cameras else (theirs, suite.cameras))),
            ("camera", self.scan, theirs, suite.cameras),
            ("state key", self.state_keys, *((ours, keys) if converted.state else (theirs, suite.state_keys))),
        ):
            lacking = [name for name in wanted if name not in given]
            if lacking:
                has = ", ".join(dict.fromkeys(given))
                return f"the policy needs {what} {', '.join(map(repr, lacking))}; {whose} has {has}"
        for camera, size in self.image_sizes.items():
            there = size if camera in converted.cameras else suite.image_sizes.get(camera, size)
            if tuple(there) != tuple(size):
                return f"the policy takes {pixels(size)} of camera '{camera}'; '{suite.name}' gives {pixels(there)}"
        for what, count, parts, own in (
            ("state", self.state_size if self.state else 0, suite.conventions.state, converted.state),
            ("action", self.action_size, suite.conventions.action, converted.action),
        ):
            there_are = sum(part.size for part in parts)
            if count and there_are and not own and count != there_are:
                return f"the policy's {what} has {count} numbers; that of '{suite.name}' has {there_are}"
        return None

    def unanswered(self, suite: Suite, task: str) -> str | None:
        """Why this policy cannot answer what a task asks, or None when it can."""
        output = suite.output(task)
        if not output or not self.outputs or output in self.outputs:
            return None
        return f"the policy gives {', '.join(self.outputs)}; '{suite.name}/{task}' asks for {output}"

    def leaked(self, suite: Suite) -> list[str]:
        """Tasks that this policy was trained on although they count as unseen in `suite`."""
        return [task for task in suite.unseen_tasks() if task in self.trained_on] if self.trained_on else []


def pixels(size: tuple[int, int]) -> str:
    """A size as people say it, height first."""
    return f"{size[0]} x {size[1]} pixels"


class Policy:
    """Subclass it and write `act`; any object with these members is as good.

    Batching is the normal case: `act` gets one observation and one state per waiting episode and returns one action
    for each, in the same order. What must be remembered between steps of an episode lives in its state, never in
    `self`: episodes of many workers share one policy object.

    Explanations are finer where a policy also has `log_prob(observations, states, actions)`, which says how likely each
    of these answers of its own is (in nats; of a flow or a diffusion, less its loss), and where it reads `masks_text`
    as true: then characters that an observation names in `instruction_mask`, a list of [start, stop], get no attention.
    """

    spec: PolicySpec = PolicySpec()
    masks_text: bool = False

    def reset(self, episode: EpisodeKey) -> Any:
        """The state of a new episode: any object, which `act` may change. Draw from `episode.rng("policy")`.

        What its attribute `remark` says when the episode ends, if it has one, becomes the message of the result.
        """
        return None

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        """One action for each observation."""
        raise NotImplementedError(f"{type(self).__name__} has no act()")

    def digest(self) -> str | None:
        """A text that changes with everything that changes the answers: a hash of weights and configuration, say.

        Only asked of what a MODULE:FACTORY returns. A policy that cannot tell (None) is called unverified in the run
        file: whether another run was made with the same one is then not known.
        """
        return None
