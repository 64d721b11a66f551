"""From the text of `--vla-policy` to a policy: one loader per kind, chosen by how the text looks."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla._version import __version__
from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.suggest import unknown

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.suite import Suite

KINDS = (
    "oracle, random, noop, PATH.pt (a pytest-vla checkpoint), PATH.pt2 (torch.export), MODULE:FACTORY, "
    "a LeRobot or Hugging Face folder, ws://HOST:PORT (a vla-eval or openpi server) or http://HOST/v1 (a chat model)"
)


@dataclass(frozen=True)
class PolicySource:
    """A policy that is ready to act: where it came from, what it is exactly, and how to get it for an env."""

    text: str
    digest: str
    bind: Callable[[Suite, gymnasium.Env[Any, Any]], Policy] = field(repr=False)
    spec: PolicySpec = field(default_factory=PolicySpec)


def load_policy(text: str) -> PolicySource:
    """Load what `--vla-policy` names; raises PolicyError with one clear message when that fails."""
    if text in BUILTIN:
        return PolicySource(text, f"builtin:{text}:{__version__}", BUILTIN[text])
    if is_address(text):
        return _from_address(text)
    if text.endswith((".pt", ".pt2")):
        return _from_checkpoint(text)
    if (Path(text) / "config.json").is_file():
        return _from_folder(text)
    if ":" in text and "/" not in text:
        return _from_factory(text)
    if "." in text or "/" in text:
        raise PolicyError(f"no policy can be made of {text!r}; --vla-policy takes {KINDS}")
    raise PolicyError(f"{unknown('policy', text, list(BUILTIN))}; --vla-policy takes {KINDS}")


def is_address(text: str) -> bool:
    return text.startswith(("ws://", "wss://", "http://", "https://"))


def _from_checkpoint(text: str) -> PolicySource:
    from pytest_vla.policies.checkpoint import load_checkpoint
    from pytest_vla.policies.exported import load_exported

    path = Path(text)
    policy = load_exported(path) if text.endswith(".pt2") else load_checkpoint(path)
    return _shared(text, f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}", policy)


def _from_address(text: str) -> PolicySource:
    if text.startswith("http"):
        from pytest_vla.policies.chat import ChatPolicy

        chat = ChatPolicy.at(text)
        return _shared(text, chat.digest, chat)
    from pytest_vla.policies.websocket import connect_policy

    policy, digest = connect_policy(text)
    return _shared(text, digest, policy)


def _from_folder(text: str) -> PolicySource:
    """A model folder; LeRobot's says in config.json which of its policies it is."""
    from pytest_vla.policies import huggingface, lerobot

    folder = Path(text)
    policy = lerobot.load_folder(folder) if lerobot.is_lerobot(folder) else huggingface.load_folder(folder)
    return _shared(text, f"folder:{_folder_digest(folder)}", policy)


def _folder_digest(folder: Path) -> str:
    """Names, sizes and small contents: hashing gigabytes of weights would take longer than a short run."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.relative_to(folder)}:{size}:".encode())
            with path.open("rb") as file:
                digest.update(file.read(1 << 20))
                file.seek(max(size - (1 << 20), 0))
                digest.update(file.read())
    return digest.hexdigest()


def _from_factory(text: str) -> PolicySource:
    factory = import_name(text)
    try:
        policy = factory()
    except Exception as error:
        raise PolicyError(f"the policy factory {text!r} raised {type(error).__name__}: {error}") from error
    if not callable(getattr(policy, "act", None)):
        raise PolicyError(f"{text!r} returned {type(policy).__name__}, which has no act(observations, states) method")
    return _shared(text, f"factory:{text}:{_source_digest(factory)}", policy)


def import_name(text: str) -> Any:
    """The object that MODULE:NAME names; the working directory is searched like `python -m` does."""
    module_name, _, name = text.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise PolicyError(
            f"cannot import module {module_name!r} of {text!r}: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, name):
        raise PolicyError(f"module {module_name!r} has no {name!r}")
    return getattr(module, name)


def _shared(text: str, digest: str, policy: Policy) -> PolicySource:
    """One policy object for every env: its per-episode memory is in the states, so it may be shared."""
    return PolicySource(text, digest, lambda suite, env: policy, getattr(policy, "spec", PolicySpec()))


def _source_digest(factory: Any) -> str:
    """The factory's source file stands for the policy, so that a resumed run notices an edit."""
    try:
        path = inspect.getsourcefile(factory)
    except TypeError:
        path = None
    content = Path(path).read_bytes() if path else repr(factory).encode()
    return hashlib.sha256(content).hexdigest()[:32]
