"""What hunts need of pytest: their items, and how these run as searches."""

from __future__ import annotations

import shutil
from dataclasses import astuple
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.benchmark import Benchmark
from pytest_vla.hunt.items import PARAMETER, HuntKey, check_unique_hunts, hunt_of, hunted_of, parametrize_hunts
from pytest_vla.hunt.mark import WITHOUT_HYPOTHESIS
from pytest_vla.hunt.resume import Begun, Resumed
from pytest_vla.run import Run

if TYPE_CHECKING:
    from pytest_vla.execution import Execution
    from pytest_vla.hunt.crew import Crew
    from pytest_vla.hunt.far import Door, Ledger, Service
    from pytest_vla.hunt.play import Home

CREWS = "hunt-crews"
"""The folder in the run folder where workers share hunts; gone when the run ends."""
MOST_FAR_HANDS = 32
"""Of one hunt on a cluster: all ask the driver, and a search has no use for more."""


class HuntHooks:
    """Registered in every process of a run that may hunt."""

    def __init__(self, config: pytest.Config, execution: Execution) -> None:
        self.config, self.execution = config, execution
        self.folder: Path | None = None
        """On the controller: the run folder."""
        self.resumed = Resumed()
        self.complaint: str | None = None
        """Why hunts cannot be: found while collecting, said when that is done."""
        self.are_expected = execution.settings.robustness.hunt
        """Whether there may be any."""
        self._service: Service | None = None
        if self._input:
            self.resumed = Resumed.from_dict(self._input["resumed"])

    def attend(self, folder: Path, before: Run | None) -> None:
        """On the controller: hunt for the run in this folder, and go on with the hunts that it has."""
        self.folder = folder
        if before is not None:
            self.resumed = Resumed.of(before)

    # --- collection ---------------------------------------------------------------------------------------------------

    def parametrize(self, metafunc: pytest.Metafunc) -> Benchmark | None:
        """Make a function's items hunts if it is to hunt; says in which suite."""
        asked = hunted_of(metafunc.definition, self.execution.settings)
        if asked is None:
            return None
        try:
            if find_spec("hypothesis") is None:
                raise pytest.UsageError(WITHOUT_HYPOTHESIS)
            parametrize_hunts(metafunc, asked, self.execution.settings, self.hands, self.resumed.finished)
        except pytest.UsageError as error:
            self.complaint = str(error)
            metafunc.fixturenames.append(PARAMETER)
            metafunc.parametrize(PARAMETER, [])
        return Benchmark(asked.suite)

    def check(self, items: list[pytest.Item]) -> None:
        if self.complaint:
            raise pytest.UsageError(self.complaint)
        check_unique_hunts(items)

    # --- where items run ----------------------------------------------------------------------------------------------

    @property
    def _input(self) -> dict[str, Any]:
        """What the controller gave this worker."""
        given: dict[str, Any] = getattr(self.config, "workerinput", {}).get("vla_hunts", {})
        return given

    @property
    def hands(self) -> int:
        """How many workers may share one hunt; the same number in every process."""
        if hasattr(self.config, "workerinput"):
            workers = int(self.config.workerinput["workercount"])
        else:
            workers = max(1, len(getattr(self.config.option, "tx", None) or ()))
        return workers if self.execution.settings.run.engine is None else min(workers, MOST_FAR_HANDS)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        key = hunt_of(pyfuncitem)
        if key is None:
            return None
        from pytest_vla.hunt.play import run_hunt

        begun = self.resumed.begun.get(key.name, Begun())
        run_hunt(pyfuncitem, self.execution, self._home, self._crew(key), begun)
        return True

    @cached_property
    def _home(self) -> Home:
        """Where hunts keep things: here, or on the machine of the driver."""
        from pytest_vla.hunt.far import Door, FarFolder, FarLedger, Line
        from pytest_vla.hunt.place import Folder
        from pytest_vla.hunt.play import Home

        if "door" in self._input:
            line = Line(Door(*self._input["door"]))
            return Home(FarFolder(line), partial(FarLedger, line))
        return Home(Folder(Path(self._input["run_folder"]) if self.folder is None else self.folder), self._ledger)

    def _ledger(self, hunt: str) -> Ledger:
        from pytest_vla.hunt.ledger import Ledger

        return Ledger.open(self.execution.settings.robustness.hunt_database, self.config.rootpath, hunt)

    def _crew(self, key: HuntKey) -> Crew | None:
        if self.hands == 1:
            return None
        from pytest_vla.hunt.crew import Crew

        session: str = self.config.workerinput["testrunuid"]  # type: ignore[attr-defined]
        return Crew.join(self._home.place.within(CREWS, session, "-".join(key.name)), self.hands)

    # --- on the controller --------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self.folder is not None:
            folder = str(self.folder.resolve())
            node.workerinput["vla_hunts"] = {"run_folder": folder, "resumed": self.resumed.to_dict()}
            cluster = self.config.pluginmanager.get_plugin("vla-cluster")
            if cluster is not None and self.are_expected:
                node.workerinput["vla_hunts"]["door"] = list(astuple(self._open_door(cluster.cluster.own_address)))

    def _open_door(self, address: str) -> Door:
        """Where the workers of a cluster reach the run folder; opened for the first of them."""
        if self._service is None:
            from pytest_vla.hunt.far import Service
            from pytest_vla.hunt.place import Folder
            from pytest_vla.hunt.play import PICTURES

            assert self.folder is not None
            self._service = Service(Folder(self.folder), (CREWS, PICTURES), self._ledger, address)
            self.config.add_cleanup(self._service.close)
        return self._service.door

    def pytest_sessionfinish(self) -> None:
        """What the workers told each other is of no use any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder / CREWS, ignore_errors=True)
