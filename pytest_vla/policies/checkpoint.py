"""Our checkpoint file: tensors and plain data only, loaded so that no code in the file can run."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

from pytest_vla.policies.archive import check_members
from pytest_vla.policies.base import Policy, PolicyError, PolicySpec
from pytest_vla.policies.trust import ask_for, is_registered

FIELDS = ("policy", "config", "state_dict", "spec")


def save_checkpoint(path: Path | str, policy: Any, config: dict[str, Any]) -> None:
    """Write a torch policy so that `--vla-policy=PATH` can rebuild it as `Class(**config)` plus its weights."""
    import torch

    kind = type(policy)
    content = {
        "policy": f"{kind.__module__}:{kind.__qualname__}",
        "config": config,
        "state_dict": policy.state_dict(),
        "spec": policy.spec.to_dict(),
    }
    torch.save(content, path)


def load_checkpoint(path: Path) -> Policy:
    """The policy in a checkpoint file, in evaluation mode."""
    content = read_checkpoint(path)
    kind = _policy_class(path, content["policy"])
    try:
        policy: Any = kind(**content["config"])
        policy.load_state_dict(content["state_dict"])
    except Exception as error:
        raise PolicyError(
            f"checkpoint '{path}' does not fit its class {content['policy']!r}: {type(error).__name__}: {error}"
        ) from error
    policy.spec = PolicySpec.from_dict(content["spec"])
    policy.eval()
    return policy  # type: ignore[no-any-return]


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The plain content of a checkpoint file, or one clear PolicyError."""
    if not path.is_file():
        raise PolicyError(f"there is no checkpoint '{path}'")
    try:
        import torch
    except ImportError:
        raise PolicyError('checkpoints need torch: pip install "pytest-vla[torch]"') from None
    try:
        check_members(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise PolicyError(
            f"checkpoint '{path}' was refused: it is damaged, or holds more than tensors and plain data, "
            "which could run code. Make it with pytest_vla.policies.checkpoint.save_checkpoint"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise PolicyError(
            f"checkpoint '{path}' is damaged or truncated ({path.stat().st_size} bytes): {_first_line(error)}"
        ) from error
    if not isinstance(content, dict) or any(field not in content for field in FIELDS):
        raise PolicyError(f"checkpoint '{path}' is not a pytest-vla checkpoint: it must be a dict with {list(FIELDS)}")
    return content


def _policy_class(path: Path, name: str) -> Any:
    """The class a checkpoint names. Only Policy subclasses: the file must not choose what is called."""
    from pytest_vla.policies.loading import import_name

    module = str(name).partition(":")[0]
    if not is_registered(module):
        ask_for(module.partition(".")[0], f"checkpoint '{path}' names the class {str(name)!r}, {_where(module)}")
    try:
        kind = import_name(str(name))
    except PolicyError as error:
        raise PolicyError(
            f"checkpoint '{path}' needs its class {str(name)!r}: {error}. "
            "Start from the folder that has the module, install it, or add it to PYTHONPATH"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise PolicyError(f"checkpoint '{path}' names {name!r}, which is not a subclass of pytest_vla.Policy")
    return kind


def _where(module: str) -> str:
    """What would run, found without running it."""
    top = module.partition(".")[0]
    places = [Path.cwd() / f"{top}.py", Path.cwd() / top / "__init__.py"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        try:
            found = getattr(importlib.util.find_spec(top), "origin", None)
        except (ImportError, ValueError):
            found = None
    if found is None:
        return (
            f"whose module '{top}' is not here: start from the folder that has it, install it, or add it to PYTHONPATH"
        )
    return f"whose module '{top}' ({found}) would run"


def _first_line(error: Exception) -> str:
    """Without torch's advice to load it as code."""
    lines = [line for line in str(error).strip().splitlines() if "weights_only" not in line]
    return lines[0] if lines else type(error).__name__
