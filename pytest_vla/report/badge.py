"""A badge: success with its interval, coloured by the verdict."""

from __future__ import annotations

from html import escape
from pathlib import Path

from pytest_vla.report.errors import ReportError
from pytest_vla.run import Run

COLORS = {"pass": "#2a7d3f", "fail": "#b3261e", "undecided": "#8a6100"}  # white text reads on each of them
NOT_JUDGED = "#3b5f8a"
LABEL_COLOR = "#444"
LETTER, EDGE, HEIGHT = 6.6, 8.0, 20  # pixels; a text is fitted to its width by textLength, whatever the font
LONGEST_LABEL = 40


def write_badge(run: Run, path: Path, label: str | None = None) -> Path:
    """Write the badge of a run; its folder is made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(badge(run, label), encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write '{path}': {error.strerror or error}") from error
    return path


def badge(run: Run, label: str | None = None) -> str:
    """The badge as SVG: no script, no font and nothing else from elsewhere."""
    rate, interval, measured, _ = run.once.tally().texts()
    verdict = verdict_of(run)
    left = label or ", ".join(dict.fromkeys(cell.suite for cell in run.once.cells))
    left = left if len(left) <= LONGEST_LABEL else f"{left[: LONGEST_LABEL - 1]}…"
    right = f"{rate} {interval} n={measured}" + (f" {verdict}" if verdict else "")
    return _svg(escape(left), len(left), escape(right), len(right), COLORS.get(verdict, NOT_JUDGED))


def verdict_of(run: Run) -> str:
    """The verdict as it was when the run ended; empty where it was not judged."""
    lines = run.of_type("verdict")
    verdict = str(lines[-1].get("verdict")) if lines else ""
    return verdict if verdict in COLORS else ""


def _svg(left: str, left_letters: int, right: str, right_letters: int, color: str) -> str:
    first, second = (letters * LETTER + 2 * EDGE for letters in (left_letters, right_letters))
    width = first + second

    def text(at: float, letters: int, shown: str) -> str:
        fitted = f'textLength="{letters * LETTER:.1f}" lengthAdjust="spacingAndGlyphs"'
        return f'<text x="{at:.1f}" y="14" {fitted}>{shown}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.1f}" height="{HEIGHT}" role="img" '
        f'aria-label="{left}: {right}">\n'
        f"<title>{left}: {right}</title>\n"
        f'<clipPath id="round"><rect width="{width:.1f}" height="{HEIGHT}" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#round)">'
        f'<rect width="{first:.1f}" height="{HEIGHT}" fill="{LABEL_COLOR}"/>'
        f'<rect x="{first:.1f}" width="{second:.1f}" height="{HEIGHT}" fill="{color}"/></g>\n'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{text(EDGE, left_letters, left)}{text(first + EDGE, right_letters, right)}</g>\n"
        "</svg>\n"
    )
