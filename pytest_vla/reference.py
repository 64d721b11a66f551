"""`--vla-reference`: the run that answers are compared with. A policy is run first, as a run of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.options import OPTIONS
from pytest_vla.run import RunFileError, read_run, run_path

FOLDER = "reference"
NONE = "none"
LAST_LINES = 12  # of a run that failed
#: What is about the run that is compared, and not about which episodes there are.
NOT_PASSED_ON = (
    *("policy", "reference", "run-dir", "resume", "keep-errors", "gate", "baseline", "anchor", "ledger", "early-stop"),
    *("max-episodes", "report", "video", "record", "record-cameras", "perturb", "sweep", "language-check", "repeat"),
)


def reference_run(config: pytest.Config, given: str | None, folder: Path) -> Path | None:
    """The file of the run that `--vla-reference` names; where it names a policy, that is run now."""
    if given is None or given == NONE:
        return None
    path = run_path(given)
    if path.is_file() and path.suffix == ".jsonl":
        try:
            read_run(path)
        except RunFileError as error:
            raise pytest.UsageError(f"--vla-reference: {error}") from None
        return path
    return _run_first(config, given, folder / FOLDER)


def _run_first(config: pytest.Config, policy: str, folder: Path) -> Path:
    """The same episodes, unperturbed, with the other policy; what a resumed run has of it is gone on with."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity >= 0:
        reporter.write_line(f"vla: running the reference {policy} first, in {folder} ...")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *_passed_on(list(map(str, config.invocation_params.args)))),
            *(f"--vla-policy={policy}", f"--vla-reference={NONE}", f"--vla-run-dir={folder}", "-p", "no:cacheprovider"),
            *(["--vla-resume"] if run_path(folder).is_file() else []),
        ],
        cwd=config.invocation_params.dir,
        capture_output=True,
        text=True,
        errors="replace",
    )
    path = run_path(folder)
    ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
    if done.returncode not in ended or not path.is_file():
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:])
        raise pytest.UsageError(f"--vla-reference={policy} could not be run:\n{last}")
    return path


def _passed_on(arguments: list[str]) -> list[str]:
    """What was typed, without what is about the run that is compared; other programs' reports are made once."""
    with_value = {option.flag for option in OPTIONS if option.name in NOT_PASSED_ON and option.kind != "flag"}
    flags = {option.flag for option in OPTIONS if option.name in NOT_PASSED_ON and option.kind == "flag"}
    kept: list[str] = []
    skip = False
    for argument in arguments:
        name = argument.partition("=")[0]
        if skip:
            skip = False
        elif name in with_value:
            skip = "=" not in argument
        elif name not in flags and name not in ("--junitxml", "--junit-xml", "-x", "--exitfirst"):
            kept.append(argument)
    return kept
