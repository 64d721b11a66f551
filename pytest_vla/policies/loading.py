"""One loader for each kind of policy: from its text to a policy that is ready to act."""

from __future__ import annotations

import importlib
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_vla._version import __version__
from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.policies.digests import factory_digest, file_digest, folder_digest, text_digest
from pytest_vla.policies.source import EnvSource, SharedSource

CONNECT_LIMIT_S = 10.0


def load_builtin(text: str) -> EnvSource:
    return EnvSource(text=text, digest=f"builtin:{text}:{__version__}", verified=True, make=BUILTIN[text])


def load_checkpoint_file(text: str) -> SharedSource:
    from pytest_vla.policies.checkpoint import load_checkpoint

    path = Path(text)
    policy = load_checkpoint(path)
    return _shared(text, f"sha256:{file_digest(path)}", policy)


def load_exported_file(text: str) -> SharedSource:
    from pytest_vla.policies.exported import load_exported

    path = Path(text)
    policy = load_exported(path)
    return _shared(text, f"sha256:{file_digest(path)}", policy)


def load_lerobot_folder(text: str) -> SharedSource:
    from pytest_vla.policies.lerobot import load_folder

    policy = load_folder(Path(text))
    return _shared(text, f"folder:{folder_digest(Path(text))}", policy)


def load_huggingface_folder(text: str) -> SharedSource:
    from pytest_vla.policies.huggingface import load_folder

    policy = load_folder(Path(text))
    digest = text_digest(folder_digest(Path(text)), policy.unnorm_key or "")  # the key changes every action
    return _shared(text, f"folder:{digest}", policy)


def load_server(text: str) -> SharedSource:
    """All that is known of a server's policy is what the server says of itself."""
    from pytest_vla.policies.websocket import connect_policy

    policy, digest = connect_policy(text)
    return _shared(text, digest, policy, verified=False)


def load_groot(text: str) -> SharedSource:
    """All that is known of a server's policy is what the server says of itself."""
    from pytest_vla.policies.groot import connect_policy

    policy, digest = connect_policy(text)
    return _shared(text, digest, policy, verified=False)


def load_chat(text: str) -> SharedSource:
    """All that is known of a chat model is its name."""
    from pytest_vla.policies.chat import SYSTEM, ChatPolicy, Endpoint

    endpoint, query = Endpoint.at(text)
    _check_address(endpoint.url)
    images = {"yes": True, "no": False}.get(query.get("images", ""))
    digest = f"chat:{endpoint.url}:{endpoint.model}:{text_digest(SYSTEM, str(images))[:16]}"
    return _shared(text, digest, ChatPolicy(endpoint, images), verified=False)


def _check_address(url: str) -> None:
    """A server that nobody runs is said before the first episode."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_LIMIT_S).close()
    except OSError as error:
        raise PolicyError(f"nothing answers at {url}: {error.strerror or error}") from None


def load_factory(text: str) -> SharedSource:
    factory = import_name(text)
    try:
        policy = factory()
    except Exception as error:
        raise PolicyError(f"the policy factory {text!r} raised {type(error).__name__}: {error}") from error
    if not callable(getattr(policy, "act", None)):
        raise PolicyError(f"{text!r} returned {type(policy).__name__}, which has no act(observations, states) method")
    digest, verified = factory_digest(factory, policy)
    return _shared(text, f"factory:{text}:{digest}", policy, verified=verified)


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


def _shared(text: str, digest: str, policy: Policy, *, verified: bool = True) -> SharedSource:
    spec = getattr(policy, "spec", PolicySpec())
    return SharedSource(text=text, digest=digest, verified=verified, spec=spec, policy=policy)
