"""What the doctor says, as data: findings with their cure and evidence, and what else was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

TABLE = "[tool.pytest_vla.conventions]"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault; `cure` is what to write or to change.

    `config` is the same as the table of conventions has it; None: a correction that is there must go.
    """

    fault: str
    cure: str
    before: str
    after: str
    evidence: str
    name: str = ""  # one word for the fault, for programs
    config: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 1.0

    def __str__(self) -> str:
        change = " -> ".join(said for said in (self.before, self.after) if said)
        return f"{self.fault}{': ' if change else ''}{change}; {self.cure}"


@dataclass(frozen=True, slots=True)
class Examination:
    """All that came of one look at a policy in a suite."""

    policy: str
    suite: str
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    verdict: str = ""
    episodes: int = 0
    seconds: float = 0.0
    offline: Mapping[str, float] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    tried: tuple[Mapping[str, Any], ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.findings

    def to_record(self) -> dict[str, Any]:
        return {**asdict(self), "findings": [asdict(finding) for finding in self.findings], "healthy": self.healthy}

    def lines(self) -> list[str]:
        """As a person would say it."""
        said = []
        for finding in self.findings:
            said += [f"found: {finding}", f"       {finding.evidence}"]
        said += [self.verdict] if self.verdict else []
        said += self._offline_lines()
        said += [f"note: {remark}" for remark in self.remarks]
        return [*said, f"{self.episodes} episodes, {self.seconds:.0f} s"]

    def _offline_lines(self) -> list[str]:
        """The offline numbers of the policy as it is."""
        names = {"l1": "L1 error", "direction": "direction", "scale": "scale", "gripper_timing": "gripper timing"}
        known = [f"{word} {self.offline[name]:.3g}" for name, word in names.items() if name in self.offline]
        return [f"offline: {', '.join(known)}"] if known else []


def config_lines(config: Mapping[str, Any]) -> str:
    """Corrections as one writes them in TOML, on one line."""
    return ", ".join(f"no {name}" if value is None else f"{name} = {_toml(value)}" for name, value in config.items())


def cure_of(change: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """What to write where a change helps, and which of the corrections before it must go."""
    new = {name: value for name, value in change.items() if value is not None}
    gone = {name: value for name, value in before.items() if name in change}
    said = [f"take `{config_lines(gone)}` out of {TABLE}"] if gone else []
    said += [f"add `{config_lines(new)}`" + ("" if gone else f" to {TABLE}")] if new else []
    return " and ".join(said)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)
