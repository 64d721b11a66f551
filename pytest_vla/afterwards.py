"""What is added to a run once its episodes have ended, as lines of its file and on the terminal.

What the servers did, what the policy costs, the doctor's findings, explanations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pytest_vla.inference.cost import cost_lines
from pytest_vla.inference.session import cost, describe, statistics
from pytest_vla.options import Settings
from pytest_vla.policies import PolicySource
from pytest_vla.registry import get_suite, suite_names
from pytest_vla.run import Plan, Record, RunWriter, read_run

if TYPE_CHECKING:
    from pytest_vla.doctor.findings import Examination
    from pytest_vla.engines.ray.replicas import ClusterService
    from pytest_vla.inference.service import Service


class Afterwards:
    """Written when the last episode has ended, said in the summary."""

    def __init__(self, settings: Settings, source: PolicySource, writer: RunWriter) -> None:
        self.settings, self.source, self.writer = settings, source, writer
        self._inference: dict[str, Any] | None = None
        self._cost: dict[str, Any] | None = None
        self._examined: list[Examination] = []
        self._explained: dict[str, Any] | None = None

    def write_use(self, service: Service | ClusterService | None, transport_s: float, plan: Plan | None) -> None:
        """What the servers did, and what the policy costs beside the pace of the suites that it was asked in."""
        if service is not None:
            self._inference = statistics(service, transport_s)
            self.writer.write(self._inference)
        ran = sorted({cell.suite for cell in plan.part.cells()} & {*suite_names()}) if plan else []
        self._cost = cost(self.source, service, {name: get_suite(name).control_hz for name in ran})
        if self._cost is not None and self._cost["calls"]:
            self.writer.write(self._cost)

    def ask_again(self, say: Callable[[str], None]) -> None:
        """What takes the policy once more: the doctor, and explanations."""
        if self.settings.inference.doctor:
            self._examine()
        if self.settings.report.explain is not None:
            self._explain(self.settings.report.explain, say)

    def _examine(self) -> None:
        """`--vla-doctor`: every suite of the run, by the policy as it was asked."""
        from pytest_vla.doctor.session import examine_run
        from pytest_vla.replay import suite_of

        first: dict[str, Record] = {}
        for record in read_run(self.writer.path).records():
            first.setdefault(record.key.suite, record)
        suites = [suite_of(record, trust=True) for record in first.values()]  # with -n only workers import tests
        self._examined = examine_run(self.source, self.settings, suites)
        for made in self._examined:
            self.writer.write({"type": "doctor", **made.to_record()})

    def _explain(self, which: str, say: Callable[[str], None]) -> None:
        """`--vla-explain`: what the policy looked at in episodes of this run, asked where it is held."""
        from pytest_vla.explain.session import explain_run

        self._explained = explain_run(self.source, read_run(self.writer.path), which, say)
        if self._explained is not None:
            self.writer.write({"type": "explain", **self._explained})

    def use_lines(self) -> Iterator[str]:
        if self._inference is not None:
            yield from describe(self._inference)
        if self._cost is not None:
            yield from cost_lines(self._cost)

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Titles with their lines."""
        if self._examined:
            yield "vla doctor", [f"{made.suite}: {line}" for made in self._examined for line in made.lines()]
        if self._explained is not None:
            from pytest_vla.explain.many import summary_lines

            yield "vla explain", list(summary_lines(self._explained))
