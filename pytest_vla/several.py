"""Several policies in one go: `--vla-policy` typed more than once is one run for each, on the same episodes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_vla.run import FILE_NAME, read_run
from pytest_vla.run.folder import chosen_folder

FLAG = "--vla-policy"
OF_ONE_RUN = ("--junitxml", "--junit-xml", "--vla-report", "--vla-run-name", "--snapshot-update")
"""What several runs would write over each other."""
WORST_FIRST = (1, 6, 5, 0)
ENDS_ALL = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)


def split(arguments: Sequence[str], flag: str = FLAG) -> tuple[list[str], list[str]]:
    """The values that were typed for an option, each once, and all other arguments."""
    values, others = [], []
    rest = iter(arguments)
    for argument in rest:
        name, sign, value = argument.partition("=")
        if name == flag:
            values.append(value if sign else next(rest, ""))
        else:
            others.append(argument)
    return list(dict.fromkeys(values)), others


def run_each(policies: Sequence[str], arguments: Sequence[str]) -> int:
    """Run pytest for each policy into a folder of its own, then rank them; the worst exit code."""
    run_dirs, others = split(arguments, "--vla-run-dir")
    if "--vla-resume" in others and not run_dirs:
        raise pytest.UsageError("--vla-resume with several policies needs --vla-run-dir=DIR, the folder of all of them")
    for argument in arguments:
        if argument.partition("=")[0] in OF_ONE_RUN:
            raise pytest.UsageError(
                f"{argument.partition('=')[0]} is about one run, and {len(policies)} policies were named: "
                "leave it out, or name one policy. pytest-vla rank RUN... -o FILE.html makes a page of all"
            )
    folder = chosen_folder(run_dirs[-1] if run_dirs else None, None, resume=False)
    codes = []
    folders = [folder / name for name in folder_names(policies)]
    for number, (policy, path) in enumerate(zip(policies, folders, strict=True), start=1):
        print(f"\nvla: policy {number} of {len(policies)}: {policy}", flush=True)
        command = [sys.executable, "-m", "pytest", *others, f"{FLAG}={policy}", f"--vla-run-dir={path}"]
        codes.append(subprocess.run(command).returncode)
        if codes[-1] in ENDS_ALL:
            return codes[-1]
    print(f"\n{_ranked(policies, folders)}")
    return next((code for code in WORST_FIRST if code in codes), max(codes))


def folder_names(policies: Sequence[str]) -> list[str]:
    """A name for the folder of each policy, as short as it can be."""
    names = [
        re.sub(r"[^\w.-]+", "_", policy.rstrip("/").rpartition("/")[2]).strip("_.") or "policy" for policy in policies
    ]
    return [name if names.count(name) == 1 else f"{number}_{name}" for number, name in enumerate(names, start=1)]


def _ranked(policies: Sequence[str], folders: Sequence[Path]) -> str:
    from pytest_vla.gate.evidence import GateError
    from pytest_vla.gate.ranking import rank
    from pytest_vla.report.ranking import ranking_text

    made = [(policy, path) for policy, path in zip(policies, folders, strict=True) if (path / FILE_NAME).exists()]
    again = f"pytest-vla rank {' '.join(str(path) for _, path in made)}"
    try:
        return f"{ranking_text(rank([read_run(path) for _, path in made], [policy for policy, _ in made]))}\n{again}"
    except GateError as error:
        return f"no ranking: {error}"
