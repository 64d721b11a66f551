"""A run as data: its file, and the one definition of an episode's identity, of a pair, of "once" and of "finished".

May import `episode` only. Read `file.py` first (what a run file holds; `writer.py` and `folder.py` write it), then
`table.py` (what is counted), `pair.py`.
"""

from pytest_vla.run.file import Failure, Run, RunFileError, read_run
from pytest_vla.run.hunts import Cause, HuntRecord, HuntStart, Reach, Tested
from pytest_vla.run.identity import Identity
from pytest_vla.run.keys import KeySet
from pytest_vla.run.names import EpisodeName, replay_command
from pytest_vla.run.pair import Pairs, Partners, Why, control_pairs, pair
from pytest_vla.run.places import FILE_NAME, run_path
from pytest_vla.run.plan import Completeness, Plan, Unrun
from pytest_vla.run.record import Record
from pytest_vla.run.table import Table, sum_by
from pytest_vla.run.tally import Tally, once
from pytest_vla.run.writer import RunWriter

__all__ = [
    "FILE_NAME",
    "Cause",
    "Completeness",
    "EpisodeName",
    "Failure",
    "HuntRecord",
    "HuntStart",
    "Identity",
    "KeySet",
    "Pairs",
    "Partners",
    "Plan",
    "Reach",
    "Record",
    "Run",
    "RunFileError",
    "RunWriter",
    "Table",
    "Tally",
    "Tested",
    "Unrun",
    "Why",
    "control_pairs",
    "once",
    "pair",
    "read_run",
    "replay_command",
    "run_path",
    "sum_by",
]
