"""How `--vla-policy` takes policies in environments of their own; light, so that help can list them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vla.policies.kinds import FOLDERS, Kind

if TYPE_CHECKING:
    from pytest_vla.policies.source import SharedSource


def _load(text: str) -> SharedSource:
    from pytest_vla.isolate.policy import load

    return load(text)


def _is_here(package: str) -> bool:
    return package in sys.modules or find_spec(package) is not None


def _is_lerobot_elsewhere(text: str) -> bool:
    """A LeRobot folder, and LeRobot in its own environment but not in this interpreter."""
    if not FOLDERS["lerobot"].matches(text) or _is_here("lerobot"):
        return False
    from pytest_vla.isolate.family import has_environment

    return has_environment("lerobot")


def _load_lerobot(text: str) -> SharedSource:
    from pytest_vla.isolate.family import load_family
    from pytest_vla.policies.lerobot import check_folder

    check_folder(Path(text))
    return load_family("lerobot", text)


def _is_of(family: str, text: str) -> bool:
    """A Hugging Face folder of that family."""
    if not FOLDERS["huggingface"].matches(text) or FOLDERS["lerobot"].matches(text):
        return False
    from pytest_vla.policies.huggingface import family_of

    return family_of(Path(text)) == family


def _is_openvla_elsewhere(text: str) -> bool:
    """An OpenVLA folder, and the environment that its code loads in."""
    if not _is_of("openvla", text):
        return False
    from pytest_vla.isolate.family import has_environment

    return has_environment("openvla")


def _hugging_face(family: str, matches: Callable[[str], bool]) -> Kind:
    """Folders that the table of kinds knows as Hugging Face's, in the environment of their family."""

    def load(text: str) -> SharedSource:
        from pytest_vla.isolate.family import load_family
        from pytest_vla.policies.huggingface import check_family_folder, check_trust

        check_trust(Path(text))
        return load_family(family, text, check_family_folder(Path(text), family))

    return Kind(FOLDERS["huggingface"].write, FOLDERS["huggingface"].help, matches, load)


#: The same folders as in the table of kinds, asked before them: where a family's packages are decides who loads it.
LEROBOT = Kind(FOLDERS["lerobot"].write, FOLDERS["lerobot"].help, _is_lerobot_elsewhere, _load_lerobot)
OPENVLA = _hugging_face("openvla", _is_openvla_elsewhere)
OPENVLA_OFT = _hugging_face("openvla_oft", lambda text: _is_of("openvla_oft", text))
SPATIALVLA = _hugging_face("spatialvla", lambda text: _is_of("spatialvla", text))
KIND = Kind(
    "env:NAME:MODULE:FACTORY",
    "a function or class in an environment of its own (`pytest-vla install NAME`), away from these packages",
    lambda text: text.startswith("env:"),
    _load,
)
