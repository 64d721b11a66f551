"""What hunts need of pytest: their items run as searches, their reports reach the run file and the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.benchmark import Benchmark
from pytest_vla.hunt.items import REPORT, hunt_of, hunted_of, parametrize_hunts, run_hunt
from pytest_vla.hunt.progress import show

if TYPE_CHECKING:
    from pytest_vla.execution import Execution
    from pytest_vla.recorder import Recorder

FOLDER = "hunts"


class HuntHooks:
    """Registered in every process of a run that may hunt."""

    def __init__(self, config: pytest.Config, execution: Execution) -> None:
        self.config, self.execution = config, execution
        self.recorder: Recorder | None = None
        self.reports: list[dict[str, Any]] = []
        self.complaint: str | None = None
        """What is wrong with a hunt's axes, found while collecting; said when that is done."""

    # --- collection ---------------------------------------------------------------------------------------------------

    def parametrize(self, metafunc: pytest.Metafunc) -> Benchmark | None:
        """Make a function's items hunts if it is to hunt; says in which suite."""
        asked = hunted_of(metafunc.definition, self.execution.settings)
        if asked is None:
            return None
        try:
            parametrize_hunts(metafunc, asked, self.execution.settings, self.hands)
        except pytest.UsageError as error:
            self.complaint = str(error)
            metafunc.parametrize("episode", [])
        return Benchmark(asked.suite)

    def check(self) -> None:
        if self.complaint:
            raise pytest.UsageError(self.complaint)

    # --- where items run ----------------------------------------------------------------------------------------------

    @property
    def hands(self) -> int:
        """How many workers may share one hunt; the same number in every process."""
        if hasattr(self.config, "workerinput"):
            return int(self.config.workerinput["workercount"])
        return max(1, len(getattr(self.config.option, "tx", None) or ()))

    def _folder(self) -> Path | None:
        told = getattr(self.config, "workerinput", {})
        return Path(told["vla_hunts"]) / told["testrunuid"] if "vla_hunts" in told else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if hunt_of(pyfuncitem) is None:
            return None
        run_hunt(pyfuncitem, self.execution, self._folder(), self.hands)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when == "call" and REPORT in item.stash:
            report.vla_hunt = item.stash[REPORT]
        return report

    # --- on the controller --------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self.recorder is not None:
            node.workerinput["vla_hunts"] = str((self.recorder.folder / FOLDER).resolve())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hunt = getattr(report, "vla_hunt", None)
        if self.recorder is None:
            return
        if hasattr(report, "vla_hunting"):
            show(self.config, report.vla_hunting)
        if hunt is None:
            return
        for probe in hunt.pop("probes"):
            self.recorder.writer.write(probe)
        pictures = hunt.pop("pictures")
        for cause in hunt["causes"]:
            if cause["perturbation"] in pictures:
                cause["picture"] = str(self._save(hunt, cause["perturbation"], pictures[cause["perturbation"]]))
        self.recorder.writer.write(hunt)
        self.reports.append(hunt)

    def _save(self, hunt: dict[str, Any], perturbation: str, content: str) -> Path:
        assert self.recorder is not None
        path = self.recorder.folder / FOLDER / f"{hunt['task']}-{hunt['partition']}-{perturbation}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(content))
        return path

    def pytest_sessionfinish(self) -> None:
        """What the workers told each other is of no use any more."""
        folder = None if self.recorder is None else self.recorder.folder / FOLDER
        if folder is not None and folder.is_dir():
            for crews in filter(Path.is_dir, folder.iterdir()):
                shutil.rmtree(crews, ignore_errors=True)
            if not any(folder.iterdir()):
                folder.rmdir()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.reports or self.recorder is None:
            return
        from pytest_vla.hunt.summary import hunt_lines
        from pytest_vla.options import shown_path

        order = sorted(self.reports, key=lambda report: (report["suite"], report["task"], report["partition"]))
        terminalreporter.section("vla hunts")
        for line in hunt_lines(order, shown_path(self.recorder.writer.path)):
            terminalreporter.line(line)
