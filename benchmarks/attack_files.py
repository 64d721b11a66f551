"""Hostile run files: what a stranger might send, made from honest ones by a seed."""

from __future__ import annotations

import base64
import json
import random
import zlib
from pathlib import Path
from typing import Any

MARK = "PWNED"
BOMB = base64.b64encode(zlib.compress(b"0" * (1 << 26))).decode()
SECRET = "the content of a secret file"

HOSTILE_TEXTS = (
    *("\x1b]0;PWNED\x07", "\x1b[2J", "a\n::error::PWNED", "##[command]PWNED", "=HYPERLINK(1)", "@SUM(1)", "\u202e", ""),
    *("<script>alert(1)</script>", "'\"; DROP", "%s%n{0}", "x" * 5000, "test_evil.py::test", "evil:Policy", "gym:evil"),
    *("ws://127.0.0.1:9/x", "http://127.0.0.1:9/v1?model=x", "/etc/passwd", "evil.pt", "../../secret.png"),
)
HOSTILE_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**18, 10**400, 1e308, -0.0, [], {}, [[]], {"a": {"b": []}}, [1, "x", None]),
)
KINDS = ("episode", "probe", "run", "plan", "hunt", "hunt_start", "unrun", "failure", "gate", "verdict", "end")


def honest() -> list[dict[str, Any]]:
    """A run as ours are: provenance, plan, episodes, a hunt with a picture, servers, a verdict."""
    key = {"suite": "reach", "task": "near", "partition": "calm", "perturbation": "", "repeat": 0, "version": "1"}
    actions = base64.b64encode(zlib.compress(bytes(32))).decode()
    lines: list[dict[str, Any]] = [
        {
            "type": "run",
            "format": 1,
            "created": "2026-01-01T00:00:00+00:00",
            "suites": {"reach": "1"},
            "policy": {"text": "noop", "digest": "builtin:noop:0", "verified": True, "spec": {}},
            "options": {"episodes": 4, "first_episode": 0, "baseline": "other/run.jsonl"},
        },
        {"type": "plan", "episodes": [["reach", "near", "calm", "", 0, [[0, 4]]]]},
    ]
    for index in range(4):
        outcome, reason = (("solved", None), ("unsolved", "step_limit"), ("error", "env_error"))[index % 3]
        lines.append(
            {
                "type": "episode",
                **key,
                "index": index,
                "outcome": outcome,
                "reason": reason,
                "steps": 4,
                "message": "text",
                "seconds": 0.1,
                "digest": "ab",
                "initial_digest": "cd",
                "progress": 0.5,
                "nodeid": f"test_evil.py::test[{index}]",
                "test": "passed" if outcome == "solved" else "failed",
                "actions": {"": ["<f4", [4, 2], actions]},
                "curve": [0.0, 0.5],
                "timings": {"act": 0.1},
                "made_with": {"renderer": "x"},
                "scene": {"side": "left"},
            }
        )
    lines.append(
        {
            "type": "hunt",
            "suite": "reach",
            "task": "near",
            "partition": "calm",
            "episodes": 10,
            "causes": [{"perturbation": "camera.yaw=3", "picture": "../secret.png", "index": 0}],
        }
    )
    lines.append(
        {"type": "inference", "requests": 3, "batches": 1, "queue_ms": 0.1, "compute_ms": 0.1, "batch_sizes": {}}
    )
    return [*lines, {"type": "end", "episodes": 4}]


def write_hostile(folder: Path, seed: int) -> Path:
    """One hostile run folder."""
    rng = random.Random(seed)
    lines = honest()
    for _ in range(rng.randint(1, 4)):
        _spoil(rng, lines)
    texts = [_spelled(rng, line) for line in lines]
    if rng.random() < 0.2:
        texts = _damaged(rng, texts)
    folder.mkdir(parents=True)
    (folder / "run.jsonl").write_bytes(b"\n".join(texts) + rng.choice([b"\n", b"", b"\n\n\0\0"]))
    return folder


def _spoil(rng: random.Random, lines: list[dict[str, Any]]) -> None:
    """Change one value, at any depth, or the line that holds it."""
    line = rng.choice(lines)
    choice = rng.random()
    if choice < 0.1:
        line["type"] = rng.choice(KINDS)
        return
    if choice < 0.2 and line["type"] == "episode":
        line["actions"] = {"": ["<f4", rng.choice([[4, 2], [1 << 24], [1 << 60], [-1], "x"]), BOMB]}
        return
    place: Any = line
    while isinstance(place, (dict, list)) and place:
        name = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[name]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.6:
            place = inner
            continue
        place[name] = rng.choice(HOSTILE_TEXTS) if rng.random() < 0.6 else rng.choice(HOSTILE_VALUES)
        return


def _spelled(rng: random.Random, line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _damaged(rng: random.Random, texts: list[bytes]) -> list[bytes]:
    place = rng.randrange(len(texts))
    text = bytearray(texts[place])
    harm = rng.randrange(5)
    if harm == 0:
        texts[place] = bytes(text[: rng.randrange(len(text))])
    elif harm == 1:
        for _ in range(5):
            text[rng.randrange(len(text))] = rng.randrange(256)
        texts[place] = bytes(text)
    elif harm == 2:
        texts[place] = b"[" * 100_000
    elif harm == 3:
        texts = [*texts, *texts[1:]]
    else:
        texts[place] = b'{"type": "episode", "index": ' + b"9" * 5000 + b"}"
    return texts
