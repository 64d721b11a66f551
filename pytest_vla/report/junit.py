"""What JUnit carries of an episode: the facts of its line in the run file."""

from __future__ import annotations

from pytest_vla.run import Record


def junit_properties(record: Record) -> list[tuple[str, object]]:
    """The facts of the run file's line that JUnit carries too."""
    key, result = record.key, record.result
    facts = {
        "suite": key.suite,
        "task": key.task,
        "partition": key.partition,
        "index": key.index,
        "perturbation": key.perturbation,
        "repeat": key.repeat,
        "outcome": result.outcome,
        "reason": result.reason,
        "test": record.test,
        "steps": result.steps,
        "progress": result.progress,
        "digest": result.digest,
        "instruction": result.instruction,
    }
    return [(f"vla.{name}", value) for name, value in facts.items() if value not in (None, "")]
