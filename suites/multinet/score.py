"""`python -m pytest_vla.suites.multinet.score FILE.jsonl`: the benchmark's numbers of answers that are in a file."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .scoring import DOMAINS, OUTPUT_OF, PARSERS, Row, ScoreError, score, trivial

Scores = dict[str, dict[str, dict[str, Any]]]


def score_rows(rows: Iterable[dict[str, Any]], similarity: bool = True) -> Scores:
    """By domain, subset and parser, every number there is; and those of the best constant answer."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for number, row in enumerate(rows, 1):
        domain, subset = row.get("domain"), row.get("subset")
        if domain not in DOMAINS:
            raise ScoreError(f"row {number}: domain must be one of {', '.join(DOMAINS)}, got {domain!r}")
        if "label" not in row or row["label"] is None:
            raise ScoreError(f"row {number}: there is no label, and none is made up")
        groups.setdefault((domain, "" if subset is None else str(subset)), []).append(_row(row, number))
    scores: Scores = {}
    for (domain, subset), found in groups.items():
        by_parser = {str(parser): score(domain, subset, found, parser, similarity) for parser in PARSERS}
        by_parser["trivial"] = score(domain, subset, trivial(domain, found), "strict", similarity)
        scores.setdefault(domain, {})[subset] = by_parser
    return scores


def _row(row: dict[str, Any], number: int) -> Row:
    label, output, choices = row["label"], row.get("output"), row.get("choices") or 0
    if row["domain"] == "bfcl" and not (isinstance(label, list) and isinstance(output, list)):
        raise ScoreError(f"row {number}: label and output of a conversation are lists of turns")
    if OUTPUT_OF[row["domain"]] == "continuous_action" and not isinstance(label, list):
        raise ScoreError(f"row {number}: the label of a continuous action is a list of numbers")
    if isinstance(choices, bool) or not isinstance(choices, int) or choices < 0:
        raise ScoreError(f"row {number}: choices must be a number of options, got {choices!r}")
    return Row(label, "" if output is None else output, choices)


def finite(value: Any) -> Any:
    """The same value as JSON has it: what is no finite number is null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ScoreError(f"{path}, line {number}: {error}") from None
        if not isinstance(row, dict):
            raise ScoreError(f"{path}, line {number}: a row is an object, got a {type(row).__name__}")
        rows.append(row)
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pytest_vla.suites.multinet.score", description=__doc__)
    parser.add_argument("file", type=Path, help='rows {"domain", "subset", "label", "output", "choices"}, one a line')
    parser.add_argument("--json", type=Path, metavar="OUT", help="where to write all numbers (default: printed)")
    parser.add_argument("--no-similarity", action="store_true", help="leave out the similarity of sentences")
    options = parser.parse_args(arguments)
    try:
        scores = finite(score_rows(read_rows(options.file), not options.no_similarity))
    except (ScoreError, OSError, TypeError) as error:
        print(f"cannot score '{options.file}': {error}", file=sys.stderr)
        return 4
    text = json.dumps(scores, indent=1)
    if options.json is None:
        print(text)
    else:
        options.json.write_text(text + "\n", encoding="utf-8")
        print(f"{sum(map(len, scores.values()))} subsets of {len(scores)} domains: {options.json}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
