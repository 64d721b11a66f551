"""One episode as a rerun recording: cameras, actions and progress on a timeline one can scrub."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_vla.replay import Replayer
from pytest_vla.report.errors import ReportError
from pytest_vla.rollout import Step
from pytest_vla.run import Record, Run
from pytest_vla.run.trace import decode_actions, encode_actions, flat_columns


def write_rrd(run: Run, record: Record, path: Path, trust: bool = False) -> None:
    """Simulate the episode again and log every step."""
    try:
        rerun = import_module("rerun")
    except ImportError:
        raise ReportError('rrd files need rerun: pip install "pytest-vla[rerun]"') from None
    if not record.measured:
        raise ReportError(f"{record.key} ended in an error and is not simulated again")
    recording: Any = rerun.RecordingStream("pytest-vla", recording_id=f"{record.key} {record.result.digest}")
    recording.save(str(path))
    steps = 0

    def log(step: Step) -> None:
        nonlocal steps
        recording.set_time("step", sequence=steps)
        steps += 1
        observation = step.observation if isinstance(step.observation, dict) else {}
        if step.action is None:
            recording.log("instruction", rerun.TextDocument(str(observation.get("instruction", ""))))
        else:
            for name, (value,) in flat_columns(decode_actions(encode_actions([step.action]))).items():
                recording.log(f"actions/{name}", rerun.Scalars(value))
        for name, image in (observation.get("images") or {}).items():
            recording.log(f"cameras/{name}", rerun.Image(image))
        if step.progress is not None:
            recording.log("progress", rerun.Scalars(step.progress))

    with Replayer(run, trust=trust) as replayer:
        result = replayer.run_actions(record, log)
    recording.log("outcome", rerun.TextDocument(str(result)))
    recording.flush()
