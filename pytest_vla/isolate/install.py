"""`pytest-vla install NAME`: makes an environment, says how far it is, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from pytest_vla.isolate.environment import (
    DECLARATION,
    KEPT,
    LOCK,
    RECEIPT,
    Environment,
    IsolateError,
    Receipt,
    environments_folder,
    installed,
    python_of,
)

Say = Callable[[str], None]
LAST_LINES = 15  # of an installer that failed
_NEWS = re.compile(r"\s*(Collecting|Downloading|Building|Installing|Prepared|Resolved|Installed)\b.*")


def install(environment: Environment, *, offline: Path | None = None, say: Say = print) -> Receipt:
    """Install what is declared, unless it is there; the receipt is written last.

    Args:
        environment: what to install.
        offline: a folder of wheels, from which alone everything is taken.
        say: gets a line for each step of the way.
    """
    if offline is not None and not offline.is_dir():
        raise IsolateError(f"--offline={offline}: there is no such folder")
    folder = environment.folder
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder, say):
        receipt = installed(environment.name)
        if receipt is not None and receipt.fingerprint == environment.fingerprint:
            say(f"{environment.name}: installed already, {size_text(receipt.bytes)} in {folder}")
            return receipt
        start = monotonic()
        (folder / RECEIPT).unlink(missing_ok=True)
        _make_venv(environment, folder, say)
        _install_packages(environment, folder, offline, say)
        _try(environment, folder)
        receipt = Receipt(
            environment.fingerprint,
            _output([str(python_of(folder)), "-I", "-c", "import platform; print(platform.python_version())"]),
            tuple(_frozen(folder)),
            sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()),
            round(monotonic() - start, 1),
        )
        _write(folder / RECEIPT, receipt)
    say(f"{environment.name}: {size_text(receipt.bytes)} in {folder}, after {receipt.seconds:.0f} s")
    return receipt


def keep_declaration(environment: Environment, folder: Path) -> None:
    """What a user's own folder declares stays with what was installed, which is known by its name from now on."""
    kept = environment.folder / KEPT
    kept.mkdir(exist_ok=True)
    for name in (DECLARATION, LOCK):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, kept / name)


def remove(environment_folder: Path) -> None:
    """Delete what is in an environment's folder, and nothing that a link in it leads to."""
    if environment_folder.parent != environments_folder() or environment_folder.is_symlink():
        raise IsolateError(f"'{environment_folder}' is no environment")
    shutil.rmtree(environment_folder)


def size_text(count: int) -> str:
    """Bytes for a person."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _make_venv(environment: Environment, folder: Path, say: Say) -> None:
    """An empty environment; one that was begun is used, so that what it has need not be fetched again."""
    venv = folder / "venv"
    if _works(python_of(folder)) and _version(str(python_of(folder))) in environment.python:
        say(f"{environment.name}: going on with what is in {venv}")
        return
    if venv.exists():
        shutil.rmtree(venv)
    uv = shutil.which("uv")
    python = _find_python(environment.python)
    if uv is not None:
        say(f"{environment.name}: making {venv} with uv")
        _run([uv, "venv", "--quiet", "--python", python or environment.python[0], str(venv)], environment.name, say)
    elif python is not None:
        say(f"{environment.name}: making {venv}")
        _run([python, "-m", "venv", str(venv)], environment.name, say)
    else:
        wanted = " or ".join(environment.python)
        raise IsolateError(
            f"{environment.name} runs on Python {wanted}, which is neither on the PATH nor in pyenv; "
            "with uv (pip install uv) it is fetched by itself"
        )


def _install_packages(environment: Environment, folder: Path, offline: Path | None, say: Say) -> None:
    python = str(python_of(folder))
    uv = shutil.which("uv")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        constraints, wanted = Path(scratch) / "constraints.txt", Path(scratch) / "requirements.txt"
        constraints.write_text("\n".join(environment.lock) + "\n", encoding="utf-8")
        if uv is not None:
            command = [uv, "pip", "install", "--python", python, *(["--offline"] if offline else [])]
        else:
            command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]
        if offline is not None:
            command += ["--no-index", "--find-links", str(offline.absolute())]
        count = len(environment.lock) or "some"
        for lines, more in ((environment.requirements, []), (environment.alone, ["--no-deps"])):
            if lines:
                wanted.write_text("\n".join(lines) + "\n", encoding="utf-8")
                say(f"{environment.name}: installing {', '.join(lines)} ({count} packages)")
                _run([*command, *more, "-r", str(wanted), "-c", str(constraints)], environment.name, say)


def _try(environment: Environment, folder: Path) -> None:
    if not environment.imports:
        return
    code = "import sys\nfor name in sys.argv[1:]: __import__(name)"
    done = subprocess.run(
        [str(python_of(folder)), "-I", "-c", code, *environment.imports],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=clean_variables({**environment.variables}),
    )
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-LAST_LINES:])
        raise IsolateError(f"{environment.name} is installed but {', '.join(environment.imports)} fails:\n{last}")


def clean_variables(more: dict[str, str]) -> dict[str, str]:
    """The variables of an interpreter that is not ours: none of ours for Python, one thread where a library may choose.

    What decides a result must not be the number of cores, or the order of a set.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ours.pop("VIRTUAL_ENV", None)
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS") if name not in ours}
    fixed = {"PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    return {**ours, **threads, **more, **fixed}


def _frozen(folder: Path) -> list[str]:
    """The packages and versions that are there, read from their metadata."""
    code = (
        "from importlib.metadata import distributions as d\n"
        "print('\\n'.join(sorted({(x.metadata['Name'] + '==' + x.version) for x in d()}, key=str.lower)))"
    )
    lines = _output([str(python_of(folder)), "-I", "-c", code]).splitlines()
    return [line for line in lines if line.partition("==")[0].lower() not in ("pip", "setuptools", "wheel", "uv")]


def _find_python(versions: Sequence[str]) -> str | None:
    """An interpreter of one of these versions: our own where it fits."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" in versions:
        return getattr(sys, "_base_executable", None) or sys.executable
    for version in versions:
        for path in _interpreters(version):
            if _version(path) == version:
                return path
    return None


def _interpreters(version: str) -> Iterator[str]:
    """Where one of that version may be: on the PATH, or among those of pyenv, which need not be switched on."""
    found = shutil.which(f"python{version}")
    if found is not None:
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True))


def _works(python: Path) -> bool:
    return python.exists() and _version(str(python)) != ""


def _version(python: str) -> str:
    try:
        return _output([python, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    except (IsolateError, OSError):
        return ""


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=clean_variables({}))
    if done.returncode:
        raise IsolateError(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


def _run(command: list[str], name: str, say: Say) -> None:
    """Run an installer, passing on the lines that say how far it is."""
    variables = clean_variables({})
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=variables,
    )
    assert process.stdout is not None
    kept: list[str] = []
    start = monotonic()
    try:
        for line in process.stdout:
            kept = [*kept[1 - LAST_LINES :], line.rstrip()]
            if _NEWS.fullmatch(line.rstrip()):
                say(f"  {monotonic() - start:4.0f} s  {line.strip().partition(' (from ')[0][:100]}")
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
    if process.returncode:
        last = "\n".join(kept)
        raise IsolateError(f"{name} could not be installed; the same command goes on from here:\n{last}")


def _write(path: Path, receipt: Receipt) -> None:
    fields = {name: getattr(receipt, name) for name in receipt.__slots__}
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    unfinished.replace(path)


@contextmanager
def _alone(folder: Path, say: Say) -> Iterator[None]:
    """One installer a folder: a second one waits for the first, and then finds everything done."""
    try:
        import fcntl
    except ImportError:  # not on this platform
        yield
        return
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"another process is installing into {folder}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
