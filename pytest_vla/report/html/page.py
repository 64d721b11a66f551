"""From run files to the page: collects what each part shows, and writes one file with everything in it."""

from __future__ import annotations

import base64
import mimetypes
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_vla._version import __version__
from pytest_vla.options import shown_path
from pytest_vla.report.film import DEFAULT_VIDEOS, Film, choose, episode_id, make_films
from pytest_vla.report.html.verdict import missing, verdict_of
from pytest_vla.report.runfile import Run, RunFileError
from pytest_vla.report.table import Tally, in_episode_order

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("store.js", "format.js", "filters.js", "list.js", "charts.js", "episode.js", "main.js")
FILE_NAME = "report.html"


class ReportError(RunFileError):
    """A report cannot be made of this run, or not here."""


@dataclass(frozen=True)
class Side:
    """One run on the page, with its films."""

    run: Run
    films: Mapping[str, Film]


def report_path(text: str | Path) -> Path:
    """The file behind what a person typed: FILE.html, or a folder for report.html."""
    path = Path(text)
    return path if path.suffix.lower() in (".html", ".htm") else path / FILE_NAME


def build_report(
    run: Run,
    output: str | Path,
    other: Run | None = None,
    *,
    video: str | None = None,
    inline_media: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write the report of a run, and of an earlier one to compare it with.

    Args:
        run: the run the page is about.
        output: FILE.html, or a folder for report.html.
        other: an earlier run; shared episodes are shown side by side.
        video: episodes to film: `unsolved`, `all`, `none`, or the first N unsolved of each task (default: 2).
        inline_media: put films into the page; otherwise they lie in a folder next to it.
        tell: hears what takes a while.

    Returns:
        The path of the page.
    """
    _need("jinja2", "PIL", "imageio_ffmpeg")
    path = report_path(output)
    folder = path.with_name(f"{path.stem}_media")
    with ExitStack() as stack:
        if inline_media:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = _film(run, other, video or DEFAULT_VIDEOS, folder, tell)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(sides, folder, inline_media), encoding="utf-8")
        except OSError as error:
            raise ReportError(f"cannot write the report '{path}': {error.strerror or error}") from error
    return path


def render(sides: list[Side], folder: Path, inline_media: bool) -> str:
    """The page as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from pytest_vla.report.html import views
    from pytest_vla.report.html.brittleness import brittleness
    from pytest_vla.report.html.data import Words, columns, details, embed, file_names
    from pytest_vla.report.html.hunts import hunt_map
    from pytest_vla.report.html.pairs import compare_runs

    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=_percent, signed=_signed, bounds=_bounds, duration=_duration, breakable=_breakable, middle=_middle
    )
    run = sides[0].run
    words, tables, blocks = Words(), [], []
    for number, side in enumerate(sides):
        ordered = in_episode_order(side.run.episodes)
        known = details(ordered, side.films)
        blocks += [(f"detail-{number}-{row}", embed(detail)) for row, detail in known]
        tables.append(
            {
                "label": "this run" if number == 0 else "compared with",
                "path": shown_path(side.run.path),
                "policy": str((side.run.provenance.get("policy") or {}).get("text", "")),
                "columns": columns(ordered, words),
                "details": [row for row, _ in known],
                "films": [row for row, detail in known if detail.get("video")],
            }
        )
    films = file_names(film for side in sides for film in side.films.values())
    return environment.get_template("page.html").render(
        version=__version__,
        style=Markup((ASSETS / "style.css").read_text(encoding="utf-8")),
        script=Markup("\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        run=run,
        sides=[side.run for side in sides],
        facts=[views.facts(side.run) for side in sides],
        policy=str((run.provenance.get("policy") or {}).get("text", "unknown")),
        tally=views.Rate(Tally.of(views.unperturbed(run.episodes))),
        perturbed=sum(bool(record.get("perturbation")) for record in run.episodes),
        verdict=verdict_of(run, sides[1].run if len(sides) > 1 else None),
        missing=[missing(side.run) for side in sides],
        maps=views.heat_maps(run.episodes),
        levels=views.levels(run.episodes),
        reasons={outcome: views.reasons(run.episodes, outcome) for outcome in ("error", "unsolved")},
        speed=views.speed(run.episodes, run.others),
        inference=_inference(run),
        comparison=compare_runs(run.episodes, sides[1].run.episodes) if len(sides) > 1 else None,
        brittleness=brittleness(run.episodes),
        hunts=hunt_map(run),
        data=embed({"words": words.list, "runs": tables, "media": None if inline_media else f"{quote(folder.name)}/"}),
        blocks=blocks,
        media=_inlined(folder, films) if inline_media else [],
    )


def _film(run: Run, other: Run | None, which: str, folder: Path, tell: Callable[[str], None]) -> list[Side]:
    """The films of both runs: of one episode either both are shown, or none."""
    chosen = choose(run.episodes, which, other.episodes if other else ())
    sides = [Side(run, make_films(run, chosen, folder, tell))]
    if other is not None:
        names = {episode_id(record) for record in chosen}
        same = [r for r in other.episodes if episode_id(r) in names and r["outcome"] != "error"]
        sides.append(Side(other, make_films(other, same, folder, tell)))
    return sides


def _inlined(folder: Path, names: list[str]) -> list[tuple[str, str, str]]:
    """Name, type and base64 text of each file."""
    return [
        (
            name,
            mimetypes.guess_type(name)[0] or "application/octet-stream",
            base64.b64encode((folder / name).read_bytes()).decode(),
        )
        for name in names
    ]


def _inference(run: Run) -> list[str]:
    """What the inference servers said of themselves, if there were any."""
    from pytest_vla.inference.session import describe

    lines: list[str] = []
    for record in run.others:
        if record.get("type") == "inference":
            try:
                lines += [line.removeprefix("inference: ") for line in describe(record)]
            except (KeyError, TypeError, ValueError):
                lines.append("the statistics of the inference servers cannot be read")
    return lines


def _need(*modules: str) -> None:
    from importlib.util import find_spec

    lacking = [module for module in modules if find_spec(module) is None]
    if lacking:
        raise ReportError(f'a report needs {", ".join(lacking)}: pip install "pytest-vla[report]"')


def _breakable(name: str) -> Any:
    """A name that may be broken after its underscores, nowhere else."""
    from markupsafe import Markup, escape

    return escape(name).replace("_", Markup("_<wbr>"))


def _middle(text: str, length: int = 34) -> str:
    """A long text without its middle: both ends of a digest tell it from others."""
    return text if len(text) <= length else f"{text[: length - 13]}…{text[-12:]}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}%"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def _bounds(interval: tuple[float, float]) -> str:
    return f"[{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]".replace("-", "−")


def _duration(seconds: Any) -> str:
    seconds = float(seconds)
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
