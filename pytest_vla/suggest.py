"""Error text for a name that does not exist: what there is, and what was probably meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Sequence[str], where: str = "") -> str:
    """`unknown task 'rotat' in suite 'vima'; did you mean 'rotate'? ...`"""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else "."
    place = f" {where}" if where else ""
    return f"unknown {kind} {name!r}{place}{hint} Known: {', '.join(known)}"
