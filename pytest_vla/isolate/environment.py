"""An environment: packages under a name, in a folder of their own, for suites and policies that cannot share ours.

It is declared by a folder with `environment.toml` (and `requirements.lock`, the exact versions): that of a shipped
suite, that of a package which offers it through the entry point group `pytest_vla.environments`, or a user's own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pytest_vla.suggest import unknown
from pytest_vla.suite import SuiteError

ENTRY_POINT_GROUP = "pytest_vla.environments"
FOLDER_VARIABLE = "PYTEST_VLA_ENVS"
DECLARATION, LOCK, RECEIPT = "environment.toml", "requirements.lock", "installed.json"
KEPT = "declared"  # in an environment's folder: what it was made from, where that was a folder and no package

_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]+\])?\s*"  # a project and its extras
    r"((===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*"  # versions
    r"(;[A-Za-z0-9 _.'\"<>=!()-]+)?"  # where it applies
)
_PYTHON = re.compile(r"3\.\d{1,2}")
_SCRIPT = re.compile(r"[a-z_]+\.py")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


class IsolateError(SuiteError):
    """An environment is not what it should be, or cannot be made."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What `environment.toml` says."""

    name: str
    requirements: tuple[str, ...]
    python: tuple[str, ...]
    """The versions of Python that it runs on, the preferred one first; the lock file is of that one."""
    lock: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    """Packages that are installed without what they ask for: `requirements` has what they need."""
    combined: tuple[str, ...] = ()
    """Packages that are needed besides when something else is installed into these (`--with`)."""
    prepare: tuple[Path, ...] = ()
    """Scripts that run first in every child process, such as one that tells a package where its data is."""
    imports: tuple[str, ...] = ()
    """Modules that must be importable when it is installed."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the child process."""
    renders: str = ""
    """`mujoco`: it draws with OpenGL through MuJoCo, by whichever of EGL and OSMesa works here."""

    @property
    def fingerprint(self) -> str:
        """Of all that decides what is installed."""
        decides = [self.name, self.requirements, self.lock, self.python, *([self.alone] if self.alone else [])]
        text = json.dumps(decides, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def folder(self) -> Path:
        return place_of(self.name)

    @property
    def command(self) -> str:
        """What a person types to install it."""
        first, *others = self.name.split("+")
        return " ".join(["pytest-vla", "install", first, *(f"--with={other}" for other in others)])


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an installed environment is: written last, so that a folder without it is unfinished."""

    fingerprint: str
    python: str
    packages: tuple[str, ...]
    bytes: int
    seconds: float

    @property
    def digest(self) -> str:
        """Of the packages as they are: episodes of different ones do not pair."""
        text = "\n".join((self.python, *self.packages))
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def environments_folder() -> Path:
    """Where environments live: `$PYTEST_VLA_ENVS`, or a folder in the user's cache."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache_home) if cache_home else Path.home() / ".cache") / "pytest-vla" / "envs"


def place_of(name: str) -> Path:
    """The folder of the environment of that name, which is in the environments' folder whatever the name."""
    check_name(name)
    root = environments_folder()
    folder = root / name
    if folder.is_symlink() or folder.resolve().parent != root.resolve():
        raise IsolateError(f"'{folder}' leads out of '{root}': remove it")
    return folder


def check_name(name: str) -> str:
    """The name, where it is one: words of small letters, digits and underscores, joined by + when combined."""
    if not all(_NAME.fullmatch(part) for part in name.split("+")):
        raise IsolateError(f"{name[:80]!r} is no name of an environment: small letters, digits and underscores")
    return name


def python_of(folder: Path) -> Path:
    """The interpreter in an environment's folder."""
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def installed(name: str) -> Receipt | None:
    """What is installed under that name; None where nothing is, or only a part."""
    folder = place_of(name)
    try:
        data = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
        receipt = Receipt(**{**data, "packages": tuple(data["packages"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return receipt if python_of(folder).exists() else None


@cache
def declarations() -> Mapping[str, Path]:
    """The folder of every environment that is declared here, by name."""
    found: dict[str, Path] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        folder = _package_folder(point.value)
        if folder is not None:
            found[point.name] = folder
    shipped = _package_folder("pytest_vla.suites")
    for path in sorted(shipped.glob(f"*/{DECLARATION}")) if shipped else ():
        found[path.parent.name] = path.parent
    return found


def environment(name: str) -> Environment:
    """The environment of that name; `NAME+OTHER` is NAME in the packages of OTHER."""
    check_name(name)
    parts = [_declared(part) for part in name.split("+")]
    if len(parts) == 1:
        return parts[0]
    first, *others = parts
    pythons = tuple(version for version in others[0].python if all(version in part.python for part in parts))
    if not pythons:
        raise IsolateError(f"no version of Python suits all of {', '.join(part.name for part in parts)}")
    locked: dict[str, str] = {}
    for part in (*others, first):  # where both have a package, the simulator's version stands
        for line in part.lock:
            locked.setdefault(_project(line), line)
    return Environment(
        name=name,
        requirements=tuple(dict.fromkeys(line for part in parts for line in (*part.requirements, *part.combined))),
        python=pythons,
        lock=tuple(locked.values()),
        alone=tuple(dict.fromkeys(line for part in parts for line in part.alone)),
        prepare=tuple(path for part in parts for path in part.prepare),
        imports=tuple(module for part in parts for module in part.imports),
        variables={key: value for part in parts for key, value in part.variables.items()},
        renders=next((part.renders for part in parts if part.renders), ""),
    )


def declared_in(folder: Path) -> Environment:
    """The environment that a folder of the user's own declares, under the folder's name."""
    name = folder.resolve().name
    if name in declarations():
        raise IsolateError(f"'{folder}': there is an environment '{name}' already; give the folder another name")
    return read_declaration(name, folder)


def _declared(name: str) -> Environment:
    folders = declarations()
    if name in folders:
        return read_declaration(name, folders[name])
    kept = place_of(name) / KEPT
    if (kept / DECLARATION).is_file():
        return read_declaration(name, kept)
    raise IsolateError(unknown("environment", name, sorted(folders)))


def read_declaration(name: str, folder: Path) -> Environment:
    """What a folder declares. Whatever could make an installer write elsewhere, or fetch from elsewhere, is refused."""
    path = folder / DECLARATION
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IsolateError(f"{path}: {error}") from None
    left = set(data) - {"python", "requirements", "alone", "combined", "prepare", "imports", "variables", "renders"}
    if left:
        raise IsolateError(f"{path}: nothing is known of {', '.join(sorted(left))}")
    lock = folder / LOCK
    lines = lock.read_text(encoding="utf-8").splitlines() if lock.is_file() else []
    return Environment(
        name=check_name(name),
        requirements=tuple(_requirement(line, path) for line in _texts(data, "requirements", path)),
        python=tuple(_checked(_PYTHON, text, "a version of Python", path) for text in _texts(data, "python", path)),
        lock=tuple(_requirement(line, lock) for line in lines if line.strip() and not line.lstrip().startswith("#")),
        alone=tuple(_requirement(line, path) for line in _texts(data, "alone", path)) if "alone" in data else (),
        combined=tuple(_requirement(line, path) for line in _texts(data, "combined", path))
        if "combined" in data
        else (),
        prepare=(folder / _checked(_SCRIPT, str(data["prepare"]), "a Python file beside it", path),)
        if "prepare" in data
        else (),
        imports=tuple(_texts(data, "imports", path)) if "imports" in data else (),
        variables=dict(_variables(data.get("variables", {}), path)),
        renders=str(data.get("renders", "")),
    )


def _texts(data: Mapping[str, Any], name: str, path: Path) -> list[str]:
    value = data.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise IsolateError(f"{path}: {name} must be a list of texts")
    return value


def _requirement(line: str, path: Path) -> str:
    """A requirement by name and version. An option, a path or an address is none."""
    return _checked(_REQUIREMENT, line.strip(), "a requirement by name and version, such as numpy==2.4.6", path)


def _checked(pattern: re.Pattern[str], text: str, what: str, path: Path) -> str:
    if not pattern.fullmatch(text):
        raise IsolateError(f"{path}: {text[:80]!r} is not {what}")
    return text


def _variables(values: Any, path: Path) -> Iterator[tuple[str, str]]:
    """Variables of the child; none that decides which code an interpreter or the linker loads."""
    if not isinstance(values, dict):
        raise IsolateError(f"{path}: variables must be a table")
    for name, value in values.items():
        if not _VARIABLE.fullmatch(name) or name.startswith(("PYTHON", "LD_", "PIP_", "UV_")) or name == "PATH":
            raise IsolateError(f"{path}: the variable {name[:80]!r} cannot be set here")
        yield name, str(value)


def _project(line: str) -> str:
    """The normalised name of the project that a requirement is about."""
    match = re.match(r"[A-Za-z0-9._-]+", line)
    return re.sub(r"[-_.]+", "-", match[0] if match else line).lower()


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(locations[0]) if locations else None
