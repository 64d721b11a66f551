"""What a policy is, as a hash of its content: every byte of a file or folder, and what a factory's policy can tell."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_vla.policies.base import PolicyError, PolicySpec


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """Every name and every byte."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return text_digest(*(f"{name}\0{file_digest(files[name])}" for name in sorted(files)))


def text_digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def factory_digest(factory: Any, policy: Any) -> tuple[str, bool]:
    """A digest of the policy that a factory made, and whether it stands for all of it.

    Only the policy itself can know that: by `digest()`. Without it, the factory's source file, the spec and the weights
    of torch modules are what can be seen from outside.
    """
    own = _told_digest(policy)
    spec = getattr(policy, "spec", PolicySpec())
    seen = [_source_digest(factory), json.dumps(spec.to_dict(), sort_keys=True)]
    return text_digest(*seen, own if own is not None else _weights_digest(policy)), own is not None


def _told_digest(policy: Any) -> str | None:
    tell: Callable[[], Any] | None = getattr(policy, "digest", None)
    try:
        own = tell() if callable(tell) else None
    except Exception as error:
        raise PolicyError(f"digest() of {type(policy).__name__} raised {type(error).__name__}: {error}") from error
    if own is not None and not isinstance(own, str):
        raise PolicyError(f"digest() of {type(policy).__name__} must return a text, got {type(own).__name__}")
    return own


def _source_digest(factory: Any) -> str:
    try:
        path = inspect.getsourcefile(factory)
    except TypeError:
        path = None
    return file_digest(Path(path)) if path else ""


def _weights_digest(policy: Any) -> str:
    """Of the torch modules that the policy is or has; torch is never imported for it."""
    digest = hashlib.sha256()
    for name, tensor in _tensors(policy):
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(sys.modules["torch"].uint8).numpy())
    return digest.hexdigest()


def _tensors(policy: Any) -> Iterator[tuple[str, Any]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return
    parts = {"": policy} if isinstance(policy, torch.nn.Module) else getattr(policy, "__dict__", {})
    for part, module in parts.items():
        if isinstance(module, torch.nn.Module):
            yield from ((f"{part}.{name}", t) for name, t in module.state_dict().items() if torch.is_tensor(t))
