"""Policies that cannot share our interpreter: `--vla-policy=env:NAME:MODULE:FACTORY` runs one in an environment."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.isolate import guest
from pytest_vla.isolate.described import own_path
from pytest_vla.isolate.environment import IsolateError, environment, installed
from pytest_vla.isolate.process import Child, Launch, launch_in
from pytest_vla.policies import compute
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.compute import Compute
from pytest_vla.policies.digests import text_digest
from pytest_vla.policies.guests import as_guests_see
from pytest_vla.policies.source import SharedSource

SCHEME = "env:"


class Handle:
    """What stands for an episode's state, which is in the other process."""

    def __init__(self, number: int, child: Child, policy: IsolatedPolicy) -> None:
        self.number, self.child, self.policy = number, child, policy

    def __deepcopy__(self, memo: Any) -> Handle:
        """Another episode there that has come as far as this one."""
        return self.policy.fork(self)


class IsolatedPolicy(Policy):
    """Asks a policy in another process. One that is lost costs the episodes it was playing, and is replaced."""

    def __init__(
        self, name: str, launch: Callable[[], Launch], path: Sequence[str] | None = None, arguments: Sequence[str] = ()
    ) -> None:
        """`name` is MODULE:FACTORY, `path` where the module is (None: the user's own), `arguments` what it is given."""
        self.name, self._launch = name, launch
        self._path, self._arguments = path, list(arguments)
        self._device, self._how = "cpu", Compute()
        self._child: Child | None = None
        self._numbers = itertools.count()
        self._over: list[int] = []
        self._lock = RLock()  # a server may ask for a new episode while it acts in others
        self.described: dict[str, Any] = {}
        self.started()
        self.spec = PolicySpec.from_dict(self.described["spec"])
        self.masks_text = bool(self.described.get("masks_text"))
        if self.described.get("log_prob"):
            self.log_prob = self._log_prob

    def reset(self, episode: EpisodeKey) -> Handle:
        with self._lock:
            child, number = self.started(), next(self._numbers)
            self._call("begin", number, as_guests_see(episode), self._forgotten())
            return self._handle(number, child)

    def fork(self, state: Handle) -> Handle:
        """A copy of an episode's state, made where it is."""
        with self._lock:
            child, number = self.started(), next(self._numbers)
            self._call("fork", state.number, number, self._forgotten())
            return self._handle(number, child)

    def _handle(self, number: int, child: Child) -> Handle:
        handle = Handle(number, child, self)
        weakref.finalize(handle, self._over.append, number)
        return handle

    def act(self, observations: Sequence[Observation], states: Sequence[Handle]) -> Sequence[Any]:
        with self._lock:
            child = self.started()
            if any(state.child is not child for state in states):
                raise PolicyError(f"the process of {self.name} was lost, and with it what it knew of this episode")
            answer = self._call("act", list(observations), [state.number for state in states], self._forgotten())
            return list(answer)

    def _log_prob(
        self, observations: Sequence[Observation], states: Sequence[Handle], actions: Sequence[Any]
    ) -> Sequence[float]:
        with self._lock:
            self.started()
            numbers = [state.number for state in states]
            return list(self._call("log_prob", list(observations), numbers, list(actions), self._forgotten()))

    def restore_units(
        self, file: str, clean: Observation, corrupted: Observation, state: Handle, named: Sequence[str]
    ) -> dict[str, Any]:
        """Activation patching where the modules are, by the code in a file that the other interpreter reads."""
        with self._lock:
            self.started()
            found = self._call("units", file, clean, corrupted, state.number, list(named), self._forgotten())
            return dict(found)

    @contextmanager
    def shuffled(self, file: str, seed: int) -> Iterator[None]:
        """The weights there in a random order, by the same code."""
        with self._lock:
            child = self.started()
            self._call("shuffle", file, seed)
            try:
                yield
            finally:
                if self.started() is child:  # a new one has them as they were
                    self._call("unshuffle")

    def started(self) -> Child:
        """The process: a new one where the last was lost or did not answer in time."""
        if self._child is not None and not self._child.usable:
            self.close()
        if self._child is None:
            self._child = Child(self._launch())
            path = own_path() if self._path is None else list(self._path)
            self._ask("open", self.name, {"path": path, "arguments": self._arguments})
            self.described = self._call("describe")
            if self._device != "cpu":
                self._call("to", self._device)
            if self._how.mark:
                self._set_up()
        return self._child

    def to(self, device: str) -> IsolatedPolicy:
        with self._lock:
            self.started()
            self._call("to", device)
            self._device = device
        return self

    def compute(self, how: Compute, device: str) -> None:
        """In which precision the model there computes."""
        with self._lock:
            self.started()
            self._device, self._how = device, how
            self._set_up()

    def _set_up(self) -> None:
        self._call("compute", compute.__file__, self._how.dtype, self._how.compiled, self._device)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _forgotten(self) -> list[int]:
        over, self._over[:] = list(self._over), []
        return over

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._ask("call", name, list(arguments))["value"]

    def _ask(self, name: str, *arguments: Any) -> dict[str, Any]:
        assert self._child is not None
        try:
            return self._child.ask(name, *arguments)
        except (EpisodeError, TypeError) as error:
            if not self._child.usable:
                self.close()
            raise PolicyError(f"{self.name}: {error}") from error


def load(text: str) -> SharedSource:
    """The policy that `env:NAME:MODULE:FACTORY` names."""
    name, _, factory = text.removeprefix(SCHEME).partition(":")
    if not name or factory.count(":") != 1:
        raise PolicyError(f"write {SCHEME}NAME:MODULE:FACTORY, got {text!r}")
    try:
        declared = environment(name)
        receipt = installed(name)
    except IsolateError as error:
        raise PolicyError(str(error)) from error
    if receipt is None or receipt.fingerprint != declared.fingerprint:
        raise PolicyError(f"{text!r} needs the environment '{name}': {declared.command}")
    policy = IsolatedPolicy(factory, lambda: launch_in(declared, Path(guest.__file__)))
    told = policy.described["digest"]
    digest = text_digest(receipt.digest, factory, policy.described["source"], str(told or ""))
    return SharedSource(text=text, digest=f"env:{digest}", verified=told is not None, spec=policy.spec, policy=policy)
