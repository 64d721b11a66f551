"""LIBERO-PRO as a suite: whatever changed suites the user's checkout has files for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_vla.isolate.described import NOT_INSTALLED
from pytest_vla.suite import Requirement

from ..libero.benchmark import IMAGE_PX, STEP_LIMITS
from ..libero_plus.benchmark import PACKAGE, CheckoutSuite

_LANGUAGE = re.compile(r"\(:language\s+([^()]*)\)")


class LiberoProSuite(CheckoutSuite):
    """A partition for each folder of changed tasks, such as `libero_goal_swap`; a task is `TASK.CHANGE`."""

    name = "libero_pro"
    environment = "libero_plus"
    data = (f"{PACKAGE}/bddl_files", f"{PACKAGE}/init_files", f"{PACKAGE}/assets")
    fetch = (
        "git clone https://github.com/Zxy-MLlab/LIBERO-PRO DIR, and put the bddl and init files of "
        "zhouxueyang/LIBERO-Pro and LIBERO's assets into DIR/libero/libero"
    )
    root_variable = "LIBERO_PRO_ROOT"
    test_file = Path(__file__).parent / "test_libero_pro.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        if self.missing() is not None:
            return [NOT_INSTALLED]  # one item, which is skipped and says why
        return [(task, path.parent.name) for task, path in self.files.items()]

    def step_limit(self, task: str) -> int:
        if task == NOT_INSTALLED[0]:
            return 1
        return STEP_LIMITS[base_suite(self.files[task].parent.name)]

    def options(self, task: str) -> Mapping[str, Any]:
        path = self.files[task]
        return {
            "checkout": str(self.checkout()),
            "partition": path.parent.name,
            "assets": str(self.checkout() / PACKAGE / "assets"),
            "instruction": instruction_in(path),
            "image_px": IMAGE_PX,
            "file": path.stem,
        }

    def _missing_data(self) -> Requirement | None:
        missing = super()._missing_data()
        if missing is not None or self.files:
            return missing
        return Requirement(f"changed tasks in '{self.checkout() / PACKAGE / 'bddl_files'}'", self.fetch)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The bddl file of every task, of the suites that are changed ones and have init states."""
        root = self.checkout() / PACKAGE
        changed = [
            folder
            for folder in sorted((root / "bddl_files").iterdir())
            if folder.name not in STEP_LIMITS
            and base_suite(folder.name)
            and (root / "init_files" / folder.name).is_dir()
        ]
        return {
            f"{path.stem}.{change_of(path.parent.name)}": path
            for folder in changed
            for path in sorted(folder.glob("*.bddl"))
        }


def base_suite(folder: str) -> str:
    """The suite of LIBERO that a folder is a change of; empty where it is none."""
    return next((name for name in STEP_LIMITS if folder.startswith(f"{name}_")), "")


def change_of(folder: str) -> str:
    """What a folder's name has behind that of its suite, with the suite's own word: tasks of two suites are alike."""
    base = base_suite(folder)
    return f"{base.removeprefix('libero_')}_{folder[len(base) + 1 :]}"


def instruction_in(path: Path) -> str:
    """What the bddl file says. Upstream's own loader takes the file's name, in which no paraphrase is."""
    found = _LANGUAGE.search(path.read_text(encoding="utf-8"))
    return " ".join(found[1].split()).lower() if found else " ".join(path.stem.split("_"))
