"""From run files to the page: films what it shows, lets every view say its part, and writes one file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla._version import __version__
from pytest_vla.report.errors import ReportError
from pytest_vla.report.film import DEFAULT_VIDEOS, choose, make_films
from pytest_vla.report.html.page import Page, Side
from pytest_vla.report.html.views import VIEWS
from pytest_vla.report.order import in_suite_order
from pytest_vla.run import Pairs, Run, pair

if TYPE_CHECKING:
    from pytest_vla.report.media import Media

ASSETS = Path(__file__).parent / "assets"
FILE_NAME = "report.html"


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
    trusted: Sequence[Run] = (),
    tell: Callable[[str], None] = lambda line: None,
    media: Media | None = None,
) -> Path:
    """Write the report of a run, and of an earlier one to compare it with.

    Args:
        run: the run the page is about.
        output: FILE.html, or a folder for report.html.
        other: an earlier run; shared episodes are shown side by side.
        video: episodes to film: `unsolved`, `all`, `none`, or the first N unsolved of each task (default: 2).
        inline_media: put films into the page; otherwise they lie in a folder next to it.
        trusted: runs whose policy may be used and whose test file imported for films; else recorded actions must do.
        tell: hears what takes a while.
        media: where the workers of the run put films.

    Returns:
        The path of the page.
    """
    check_report(output)
    path = report_path(output)
    folder = path.with_name(f"{path.stem}_media")
    given = [each for each in (run, other) if each is not None]
    runs, trust = [in_suite_order(each) for each in given], [any(each is t for t in trusted) for each in given]
    with ExitStack() as stack:
        if inline_media:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        page = Page(film_sides(runs, video or DEFAULT_VIDEOS, folder, tell, trust, media), folder, inline_media)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8") as file:
                file.writelines(render(page))
        except OSError as error:
            raise _cannot_write(path, error) from error
    return path


def check_report(output: str | Path | None) -> None:
    """Whether a report could be made and written there; ReportError where not. Nothing is left behind."""
    _need("jinja2", "PIL", "imageio_ffmpeg")
    if output is None:
        return
    path = report_path(output)
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.open("a").close()
        else:
            path.touch()
            path.unlink()
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _cannot_write(path: Path, error: OSError) -> ReportError:
    return ReportError(f"cannot write the report '{path}': {error.strerror or error}")


def render(page: Page) -> Iterator[str]:
    """The page as text, piece by piece: with films inside it may be large."""
    shown = [(view, data) for view in VIEWS if (data := view.data(page)) is not None]
    return generate(
        "page.html",
        policy=page.run.policy.text,
        files=[side.run.path.name for side in page.sides],
        views=shown,
        names={view.name for view, _ in shown},
    )


def write_page(output: str | Path, template: str, **data: Any) -> Path:
    """Write a page of its own, one without films."""
    _need("jinja2")
    path = report_path(output)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(generate(template, **data)), encoding="utf-8")
    except OSError as error:
        raise _cannot_write(path, error) from error
    return path


def generate(template: str, **data: Any) -> Iterator[str]:
    """A template of ours, filled in; whatever comes from outside is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

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
    style = Markup((ASSETS / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).generate(version=__version__, style=style, **data)


def film_sides(
    runs: list[Run],
    which: str,
    folder: Path,
    tell: Callable[[str], None],
    trust: Sequence[bool],
    media: Media | None = None,
) -> tuple[Side, ...]:
    """The films of both runs: of one episode either both are shown, or none."""
    run, *others = runs
    pairs = pair(run.table, others[0].table) if others else None
    rows = choose(run, which, pairs)
    sides = [Side(run, make_films(run, rows, folder, tell, trust[0], media))]
    if pairs is not None:
        partners = _partners(others[0], pairs, run, rows)
        sides.append(Side(others[0], make_films(others[0], partners, folder, tell, trust[1])))
    return tuple(sides)


def _partners(other: Run, pairs: Pairs, run: Run, rows: list[int]) -> list[int]:
    """The rows of the other run that pair with these."""
    import numpy as np

    mine = np.flatnonzero(run.table.repeat == 0)[pairs.new_rows]
    theirs = np.flatnonzero(other.table.repeat == 0)[pairs.old_rows]
    partners: list[int] = np.sort(theirs[np.isin(mine, rows)]).tolist()
    return partners


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
