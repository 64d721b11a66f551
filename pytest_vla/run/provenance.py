"""Who made a run: the first line of its file."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_vla._version import __version__
from pytest_vla.episode import builtin

FORMAT = 1
RECORDED_PACKAGES = ("numpy", "scipy", "gymnasium", "pytest", "pytest-xdist", "pybullet", "mujoco", "torch")


def provenance(policy: Mapping[str, Any], suites: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Versions, policy, suites, options and commit of the run that begins now."""
    return builtin(  # type: ignore[no-any-return]
        {
            "type": "run",
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "pytest_vla": __version__,
            "policy": policy,
            "suites": suites,
            "options": options,
            "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
            "commit": _commit(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "packages": {name: _version(name) for name in RECORDED_PACKAGES if _version(name)},
        }
    )


def _commit() -> dict[str, Any] | None:
    """The commit of the working directory, and whether it had changes; None outside a checkout."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
        if head.returncode:
            return None
        status = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"id": head.stdout.strip(), "dirty": bool(status.stdout.strip())}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
