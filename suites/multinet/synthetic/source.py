"""The generators as sources of samples: the n-th sample of a task is the same everywhere, without end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import samples
from ..domains import DOMAIN_OF, MORPHOLOGIES, SHAPES
from ..sample import Sample, Statistics
from ..scoring import JOINT_ACTIONS
from . import pictures, rows

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

WRITTEN = 64  # samples of a task, where they are written to files

Row = dict[str, Any]


@dataclass(frozen=True)
class Generated:
    """A task's generator."""

    draw: Callable[[np.random.Generator], Row]
    make: Callable[[Row, int], Sample]
    words: Sequence[str] = ()
    size: int = 0
    statistics: Statistics | None = None

    def __len__(self) -> int:
        return WRITTEN

    def holds(self, index: int) -> bool:
        return True

    def sample(self, episode: EpisodeKey) -> Sample:
        return self.make(self.draw(episode.rng()), episode.index)


def synthetic_source(task: str) -> Generated:
    """The generator of a task."""
    match DOMAIN_OF[task].name:
        case "openx":
            return _openx(task)
        case "overcooked":
            return Generated(rows.overcooked, _overcooked, size=JOINT_ACTIONS)
        case "piqa":
            return Generated(rows.piqa, samples.piqa_sample, size=2)
        case "sqa3d":
            return Generated(rows.sqa3d, sqa3d_sample, tuple(pictures.COLOURS))
        case "robovqa":
            return Generated(rows.robovqa, samples.robovqa_sample, ("yes", "no"))
        case "odinw":
            return Generated(rows.odinw, _odinw, size=len(pictures.SHAPES))
        case _:
            return Generated(rows.bfcl, _bfcl, _calls())


def _openx(task: str) -> Generated:
    dimensions = MORPHOLOGIES[task]
    reach = np.full(dimensions, rows.REACH)
    return Generated(
        lambda rng: rows.openx(rng, dimensions),
        lambda row, number: samples.openx_sample(task, row, number),
        size=dimensions,
        statistics=Statistics(-reach, reach, np.zeros(dimensions)),
    )


def _overcooked(row: Row, number: int) -> Sample:
    return samples.overcooked_sample(row, number, row["state"])


def sqa3d_sample(row: Row, number: int) -> Sample:
    question = {"question_id": number, **{name: row[name] for name in ("question", "situation")}}
    return samples.sqa3d_sample(question, {"answers": [{"answer": row["answer"]}]}, row["image"])


def _odinw(row: Row, number: int) -> Sample:
    return samples.odinw_sample(SHAPES, pictures.SHAPES, row, number, row["crop"])


def _bfcl(row: Row, number: int) -> Sample:
    question = {"id": f"synthetic_{number}", **row}
    return samples.bfcl_sample(question, {"ground_truth": row["ground_truth"]}, dict(rows.SIGNATURES))


def _calls() -> tuple[str, ...]:
    """What a policy that knows the functions and nothing else may say."""
    rng = np.random.default_rng(0)
    found = [call for _ in range(50) for turn in rows.bfcl(rng)["ground_truth"] for call in turn]
    return tuple(sorted(set(found)))
