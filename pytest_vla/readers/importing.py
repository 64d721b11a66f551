"""From a result file of another harness to a run file: found by its content, counted again, written once."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from pytest_vla.episode import EpisodeKey
from pytest_vla.readers import allenai, lerobot, table
from pytest_vla.readers.harness import Foreign, Reader, ReaderError, counted
from pytest_vla.run import FILE_NAME, KeySet, Plan, Record, RunWriter
from pytest_vla.run.provenance import provenance

READERS = (
    Reader("vla-eval", "*_aggregate.json of vla-eval", allenai.reads_json, allenai.read_json),
    Reader("vla-eval recording", "recording-*.sqlite of vla-eval", allenai.reads_sqlite, allenai.read_sqlite),
    Reader("lerobot", "eval_info.json of lerobot-eval", lerobot.reads, lerobot.read),
    Reader("table", "a CSV file with suite, task, episode and success", table.reads, table.read),
)


def read_results(path: Path) -> Foreign:
    """The episodes of a result file; ReaderError where no harness we know wrote it, or its own count differs."""
    if not path.is_file():
        raise ReaderError(f"'{path}' is not a file. Known are {_known()}")
    reader = next((each for each in READERS if each.reads(path)), None)
    if reader is None:
        raise ReaderError(f"'{path}' is no result of a harness that is known. Known are {_known()}")
    found = reader.read(path)
    if not found.results:
        raise ReaderError(f"'{path}' has no finished episode")
    twice = [key for key, times in Counter(each.episode for each in found.results).items() if times > 1]
    if twice:
        raise ReaderError(f"'{path}' has episode {twice[0]} more than once: which one counts, it does not say")
    if found.claimed is not None and found.claimed != counted(found.results):
        solved, total = counted(found.results)
        claimed = f"{found.claimed[0]} of {found.claimed[1]}"
        raise ReaderError(f"'{path}' says {claimed} in its summary, but its episodes are {solved} of {total}")
    return found


def import_results(path: Path, folder: Path, policy: str | None = None) -> Foreign:
    """Write a result file as a run folder; nothing is written where it cannot be read whole."""
    found = read_results(path)
    digest = f"imported:sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    identity = {"text": policy or found.policy, "digest": digest, "verified": False}
    suites = {each.episode.suite: each.episode.version for each in found.results}
    first = provenance(identity, suites, {})
    first["imported"] = {"from": path.name, "harness": found.harness, "version": found.version, **found.settings}
    keys = KeySet.of(each.episode for each in found.results)
    writer = RunWriter.create(folder / FILE_NAME, first)
    try:
        writer.write(Plan(keys, keys, frozenset()).to_record())
        for each in found.results:
            writer.write_text(Record(each, _nodeid(each.episode), "passed" if each else "failed").to_text())
        writer.write({"type": "end", "episodes": len(found.results)})
    finally:
        writer.close()
    return found


def _nodeid(key: EpisodeKey) -> str:
    return f"{key.suite}[{key.id}]"


def _known() -> str:
    return "; ".join(each.what for each in READERS)
