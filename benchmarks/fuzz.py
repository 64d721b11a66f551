"""Readers of data from strangers, under a fuzzer that follows their branches: run files, messages of clients.

pip install atheris
python -m benchmarks.fuzz runs -max_total_time=600       a run file, shown, compared, judged and exported
python -m benchmarks.fuzz messages -max_total_time=600   what a client of pytest-vla serve may send

What follows the name goes to libFuzzer, so `-help=1` lists it; an input that ends in a traceback is kept as `crash-...`
in this folder, and the same command with its name tries it again. CI fuzzes the same readers with Hypothesis.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

READERS: dict[str, Callable[[bytes], None]] = {}


def reader(function: Callable[[bytes], None]) -> Callable[[bytes], None]:
    READERS[function.__name__] = function
    return function


@reader
def runs(data: bytes) -> None:
    """Every command that only reads: it ends with an exit code, never with a traceback."""
    from pytest_vla.cli import main

    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl"
        run.write_bytes(data)
        for words in (
            *(["show", str(run)], ["compare", str(run), str(run)], ["gate", str(run), "--success=*=0.5"]),
            *(["export", str(run), "--format=csv", "-o", f"{folder}/a.csv"], ["merge", str(run), "-o", f"{folder}/m"]),
        ):
            printed = io.StringIO()
            told = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
            with told[0], told[1], contextlib.suppress(SystemExit):
                main(words)


@reader
def messages(data: bytes) -> None:
    """Both wire formats: a value, or a WireError."""
    from pytest_vla.policies.wire import WireError, unpack_message, unpack_tree

    for unpack in (unpack_message, unpack_tree):
        with contextlib.suppress(WireError):
            unpack(data)


def seeds(name: str) -> list[bytes]:
    """Honest and hostile input to begin with."""
    from benchmarks.attack_files import honest, write_hostile
    from pytest_vla.policies.wire import pack_message, pack_tree

    if name == "messages":
        observation = {"images": {}, "state": {"x": [1.0, 2.0]}, "instruction": "go"}
        return [pack_message("observation", observation, 1), pack_message("hello", {}, 0), pack_tree(observation)]
    with tempfile.TemporaryDirectory() as folder:
        hostile = [(write_hostile(Path(folder) / str(seed), seed) / "run.jsonl").read_bytes() for seed in range(40)]
    small = [data for data in hostile if len(data) < 20_000]
    return ["\n".join(map(json.dumps, honest())).encode() + b"\n", *small]


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0] not in READERS:
        print(f"name what to fuzz: {', '.join(READERS)}; see the head of {__file__}", file=sys.stderr)
        return 4
    try:
        import atheris
    except ImportError:
        print("fuzzing needs atheris, which is not in our extras: pip install atheris", file=sys.stderr)
        return 4
    name, options = words[0], words[1:]
    with atheris.instrument_imports(include=["pytest_vla.run", "pytest_vla.policies.wire", "pytest_vla.gate"]):
        pass
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds(name)):
            (Path(corpus) / f"seed{number:03d}").write_bytes(seed)
        files = [word for word in options if not word.startswith("-")]
        atheris.Setup(["fuzz", *options, *([] if files else [corpus])], READERS[name])
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
