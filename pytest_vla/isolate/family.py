"""Folders of model families whose packages are not in this interpreter: their guest runs in their environment."""

from __future__ import annotations

from pathlib import Path

from pytest_vla.isolate import guest
from pytest_vla.isolate.environment import environment, installed
from pytest_vla.isolate.policy import IsolatedPolicy
from pytest_vla.isolate.process import launch_in
from pytest_vla.policies import families
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.digests import folder_digest, text_digest
from pytest_vla.policies.source import SharedSource

HOME = Path(str(families.__file__)).parent
SHARED = HOME / "shared"


def has_environment(name: str) -> bool:
    """Whether a family's environment is installed as it is declared."""
    receipt = installed(name)
    return receipt is not None and receipt.fingerprint == environment(name).fingerprint


def load_family(name: str, text: str, arguments: tuple[str, ...] = ()) -> SharedSource:
    """The policy in a folder, by the guest of a family, in the environment of that name."""
    declared, receipt = environment(name), installed(name)
    if receipt is None or receipt.fingerprint != declared.fingerprint:
        raise PolicyError(f"'{text}' needs the environment '{name}': {declared.command}")
    folder = Path(text).resolve()
    path = [str(HOME / name), str(SHARED)]
    policy = IsolatedPolicy(
        "guest:load", lambda: launch_in(declared, Path(guest.__file__)), path, [str(folder), *arguments]
    )
    sources = [policy.described["source"], *helpers(name)]
    digest = text_digest(folder_digest(folder), receipt.digest, *sources, *arguments)
    return SharedSource(text=text, digest=f"folder:{digest}", verified=True, spec=policy.spec, policy=policy)


def helpers(name: str) -> list[str]:
    """The code that a family's guest imports besides its own file: part of the policy's digest."""
    own = [path for path in sorted((HOME / name).glob("*.py")) if path.name not in ("guest.py", "__init__.py")]
    guest_file = (HOME / name / "guest.py").read_text(encoding="utf-8")
    shared = [path for path in sorted(SHARED.glob("*.py")) if f"from {path.stem} import" in guest_file]
    return [path.read_text(encoding="utf-8") for path in (*own, *shared)]
