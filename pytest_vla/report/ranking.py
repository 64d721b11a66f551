"""A ranking as a person reads it: text, data, or a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_vla.gate.ranking import Ranking, Rankings, Standing
from pytest_vla.gate.side_by_side import aligned

ABOUT = (
    "ranks: from the first to the last place a policy may have, left out where that is any; whoever has 1 in it may be "
    "first. All differences hold at once, with {confidence:.0%} confidence, on episodes that every run has. Elo: from "
    "the episodes that one solves and another does not"
)


def ranking_text(found: Rankings) -> str:
    """A table of the whole, one of every level and perturbation, and what was left out."""
    whole = found.whole
    lines = [f"{len(found.names)} policies on the {whole.episodes} episodes that all runs share", ""]
    letters = [chr(ord("A") + place % 26) * (1 + place // 26) for place in range(len(found.names))]
    lines += aligned(
        ("", "policy", "success", "ranks", "may be first", "Elo"),
        [
            (letter, each.name, _rate(each.tally), each.ranks, "yes" if each.may_be_first else "", f"{each.elo:.0f}")
            for letter, each in zip(letters, whole.best_first(), strict=True)
        ],
    )
    order = [whole.standings.index(each) for each in whole.best_first()]
    if len(found.rankings) > 1:
        lines += ["", *aligned(("", *letters, "n"), [_section(each, order) for each in found.rankings[1:]])]
    lines += ["", ABOUT.format(confidence=found.confidence), *left_out_lines(found), *found.remarks]
    return "\n".join(line.rstrip() for line in lines)


def left_out_lines(found: Rankings) -> list[str]:
    if not found.left_out:
        return []
    return ["left out: " + ", ".join(f"{count} ({why})" for why, count in sorted(found.left_out.items()))]


def ranking_data(found: Rankings) -> dict[str, Any]:
    """The same as data, with all differences."""
    return {
        "policies": list(found.names),
        "confidence": found.confidence,
        "left_out": dict(found.left_out),
        "remarks": list(found.remarks),
        "rankings": [
            {
                "section": each.section,
                "episodes": each.episodes,
                "standings": [
                    {
                        "policy": standing.name,
                        "success": standing.tally.rate,
                        "interval": standing.tally.interval(),
                        "solved": standing.tally.solved,
                        "ranks": [standing.first_rank, standing.last_rank],
                        "may_be_first": standing.may_be_first,
                        "elo": round(standing.elo, 1),
                    }
                    for standing in each.standings
                ],
                "differences": _differences(each),
            }
            for each in found.rankings
        ],
    }


def write_ranking(found: Rankings, output: str | Path) -> Path:
    """The page: who may be first, the place of each policy, and a map of levels."""
    from pytest_vla.report.html.build import write_page

    whole = found.whole
    first = [each.name for each in whole.best_first() if each.may_be_first]
    return write_page(
        output,
        "ranking.html",
        count=len(found.names),
        whole=whole,
        standings=whole.best_first(),
        first=first,
        map=_map(found),
        about=ABOUT.format(confidence=found.confidence),
        remarks=[*left_out_lines(found), *found.remarks],
    )


def _map(found: Rankings) -> dict[str, Any]:
    """Policies and levels, the longer list downwards: a page is higher than wide, on a phone much."""
    order = [found.whole.standings.index(each) for each in found.whole.best_first()]
    levels = [{"name": each.section, "episodes": each.episodes} for each in found.rankings]
    policies = [{"name": found.names[place], "episodes": 0} for place in order]
    cells = [[_cell(each, place) for place in order] for each in found.rankings]
    if len(policies) >= len(levels):
        return {"rows": policies, "columns": levels, "cells": list(zip(*cells, strict=True)), "levels": len(levels)}
    return {"rows": levels, "columns": policies, "cells": cells, "levels": len(levels)}


def _cell(ranking: Ranking, place: int) -> dict[str, Any]:
    standing = ranking.standings[place]
    return {
        "tally": standing.tally,
        "ranks": _ranks(ranking, standing),
        "first": standing.may_be_first,
        "heat": _heat(ranking, place),
    }


def _section(ranking: Ranking, order: Sequence[int]) -> tuple[str, ...]:
    cells = [ranking.standings[place] for place in order]
    texts = [f"{_percent(each.tally.rate)} {_ranks(ranking, each)}".rstrip() for each in cells]
    return (ranking.section, *texts, str(ranking.episodes))


def _ranks(ranking: Ranking, standing: Standing) -> str:
    """The ranks in brackets; nothing where a policy may have any."""
    unknown = standing.first_rank == 1 and standing.last_rank == len(ranking.standings)
    return "" if unknown else f"({standing.ranks})"


def _differences(ranking: Ranking) -> list[dict[str, Any]]:
    names, found = [each.name for each in ranking.standings], ranking.differences
    return [
        {
            "policy": names[one],
            "minus": names[other],
            "difference": float(found.effect[one, other]),
            "interval": [float(found.low[one, other]), float(found.high[one, other])],
        }
        for one in range(len(names))
        for other in range(one + 1, len(names))
    ]


def _heat(ranking: Ranking, place: int) -> float:
    """0 for the worst success of a section, 1 for the best."""
    rates = [each.tally.rate or 0.0 for each in ranking.standings]
    spread = max(rates) - min(rates)
    return 0.5 if not spread else (rates[place] - min(rates)) / spread


def _rate(tally: Any) -> str:
    rate, interval, _, _ = tally.texts()
    return f"{rate} {interval}"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f}%"
