"""What a person types to name an episode of a run: a node id, SUITE/ID or ID; and the way back from it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from pytest_vla.episode import EpisodeKey

_ID = re.compile(
    r"(?:(?P<suite>[^/]+)/)?(?P<stem>.+?)-(?P<index>\d{2,})"
    r"(?:-(?P<perturbation>[^-=\s]+=.*?))?(?:-r(?P<repeat>\d+))?"
)


@dataclass(frozen=True, slots=True)
class EpisodeName:
    """The parts of an id. Task and partition stay together: their names may hold the dash between them."""

    suite: str | None
    stem: str
    index: int
    perturbation: str = ""
    repeat: int = 0

    @classmethod
    def parse(cls, text: str) -> EpisodeName | None:
        """The name in `SUITE/TASK-PARTITION-INDEX-PERTURBATION-rREPEAT`, or between the brackets of a node id."""
        inside = re.search(r"\[(.*)\]$", text)
        match = _ID.fullmatch(inside[1] if inside else text)
        if match is None:
            return None
        return cls(
            match["suite"], match["stem"], int(match["index"]), match["perturbation"] or "", int(match["repeat"] or 0)
        )

    def names(self, key: EpisodeKey) -> bool:
        """Whether this is the name of that episode."""
        return (
            self.suite in (None, key.suite)
            and (self.stem, self.index) == (f"{key.task}-{key.partition}", key.index)
            and (self.perturbation, self.repeat) == (key.perturbation, key.repeat)
        )


def replay_command(run_file: str, key: EpisodeKey, trust: bool = False) -> str:
    """What to type to see one episode again; `trust` where that takes more than the run file and what is installed."""
    return f"pytest-vla replay {shlex.quote(run_file)} {shlex.quote(str(key))}{' --trust' if trust else ''}"
