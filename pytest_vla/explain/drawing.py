"""Pictures of explanations: input, patches and heat side by side, a map of units, paths from above, films with heat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.explain.chance import NO_EFFECT, Verdict
from pytest_vla.explain.maps import Cell, heat
from pytest_vla.pictures import FAINT, INK, PAPER, font, in_a_column, in_a_row, picture_of, wrap

if TYPE_CHECKING:
    from PIL.Image import Image

PANEL_PX = 256
LEAST_RED = 0.2  # restored: a block in which no unit brings back so much has no red in it
LETTER_PX = 13
WIDEST_PX = 1200  # of a row of blocks
COOL_TO_HOT = ((38, 62, 168), (56, 158, 196), (180, 214, 120), (248, 190, 60), (206, 32, 38))
LINES = (
    (40, 40, 40),
    (206, 32, 38),
    (38, 110, 200),
    (30, 150, 80),
    (200, 120, 20),
    (140, 60, 180),
    (0, 150, 160),
    (220, 90, 150),
    (120, 120, 40),
)
MOST_HEAT = 0.995  # of all pixels: what the hottest colour stands for

Floats = NDArray[np.float64]


def coloured(values: Floats) -> NDArray[np.uint8]:
    """0 blue, 1 red."""
    stops = np.linspace(0, 1, len(COOL_TO_HOT))
    channels = [np.interp(values, stops, [colour[channel] for colour in COOL_TO_HOT]) for channel in range(3)]
    return np.stack(channels, -1).astype(np.uint8)


def strip(image: Any, cells: Sequence[Cell], camera: str, verdict: Verdict, title: str, unit: str) -> Image:
    """Input, the patches by their effect, and the interpolated heat map; two lines below say what they show."""
    shown = picture_of(image)
    scale = PANEL_PX / max(shown.height, 1)
    values = heat(cells, camera, (shown.height, shown.width))
    panels = [shown, _patches(shown, cells, camera, values), heated(shown, values)]
    if not verdict.above:
        panels = [shown, _silent(shown), _silent(shown)]
    row = in_a_row([_scaled(panel, scale) for panel in panels], gap_px=4)
    told = f"camera {camera}: input, patches, heat map (effect a pixel: blue none, red most). Effects: {unit}"
    said = NO_EFFECT if not verdict.above else f"strongest at {verdict.what}: {verdict}"
    return _with_lines(row, [f"{title}: {said}", told])


def heated(shown: Image, values: Floats, strength: float = 0.62) -> Image:
    """The picture in grey with the heat over it, smooth between patches."""
    from PIL import Image, ImageFilter

    level = _levels(values)
    smooth = Image.fromarray((255 * level).astype(np.uint8)).filter(ImageFilter.GaussianBlur(min(level.shape) / 48))
    hot = np.asarray(smooth, float)
    hot = hot / max(float(hot.max()), 1.0)
    grey = np.asarray(shown.convert("L"), float)[..., None].repeat(3, -1)
    return Image.fromarray(((1 - strength) * grey + strength * coloured(hot)).astype(np.uint8))


def _patches(shown: Image, cells: Sequence[Cell], camera: str, values: Floats) -> Image:
    """Every patch in its colour, with its outline where it is large enough to have one."""
    from PIL import Image, ImageDraw

    level = _levels(values)
    made = Image.fromarray((0.25 * np.asarray(shown, float) + 0.75 * coloured(level)).astype(np.uint8))
    draw = ImageDraw.Draw(made)
    for cell in cells:
        x0, y0, x1, y1 = cell.box
        if cell.camera == camera and x1 - x0 >= 8:
            draw.rectangle((x0, y0, x1 - 1, y1 - 1), outline=(30, 34, 60))
    return made


def _levels(values: Floats) -> Floats:
    """From nothing to the hottest: the root, so that weak places can be told from none."""
    most = float(np.quantile(values[values > 0], MOST_HEAT)) if (values > 0).any() else 1.0
    return np.sqrt(np.clip(values / most, 0, 1))


def _silent(shown: Image) -> Image:
    from PIL import Image, ImageDraw

    made = Image.fromarray((0.3 * np.asarray(shown.convert("L").convert("RGB"), float) + 150).astype(np.uint8))
    letters = font(max(9, round(made.width / 22)))
    width = letters.getlength(NO_EFFECT)
    ImageDraw.Draw(made).text(((made.width - width) / 2, made.height / 2), NO_EFFECT, (40, 40, 40), letters)
    return made


def unit_map(units: Sequence[Mapping[str, Any]], title: str) -> Image | None:
    """Restored share by layer and head, one block for each stack of layers; other units as a column each."""
    from PIL import Image, ImageDraw

    blocks: dict[str, dict[tuple[int, int], float]] = {}
    for unit in units:
        blocks.setdefault(_stack(unit), {})[int(unit["layer"]), max(int(unit["head"]), 0)] = float(unit["restored"])
    if not blocks:
        return None
    side, pad, letters = 34, 12, font(LETTER_PX)
    made = []
    for name, cells in blocks.items():
        rows = sorted({layer for layer, _ in cells})
        columns = 1 + max(head for _, head in cells)
        label = wrap(name, 10_000, letters)[0] if name else ""
        width = max(columns * side + 48, round(letters.getlength(label)) + 8)
        block = Image.new("RGB", (width + pad, len(rows) * side + 44), PAPER)
        draw = ImageDraw.Draw(block)
        draw.text((4, 2), label, INK, letters)
        most = max(max(cells.values()), LEAST_RED)
        for (layer, head), value in cells.items():
            x, y = 44 + head * side, 22 + rows.index(layer) * side
            shade = tuple(int(v) for v in coloured(np.array(min(max(value / most, 0.0), 1.0))))
            draw.rectangle((x, y, x + side - 2, y + side - 2), fill=shade)
            draw.text((x + 4, y + 9), f"{value:.2f}"[:5], (255, 255, 255), font(11))
        for number, layer in enumerate(rows):
            draw.text((4, 30 + number * side), f"layer {layer}"[-7:], FAINT, font(11))
        if columns > 1:
            draw.text((44, 24 + len(rows) * side), f"heads 0 to {columns - 1}", FAINT, font(11))
        made.append(block)
    told = (
        "R = share of the clean answer that comes back (0 none, 1 all), coloured by the largest of each block, or 0.2"
    )
    return _with_lines(in_a_column([in_a_row(row, gap_px=8) for row in _rows(made, 8)], gap_px=8), [title, told])


def _rows(blocks: Sequence[Image], gap_px: int) -> list[list[Image]]:
    """Blocks in rows of at most `WIDEST_PX`, but for one that is wider by itself."""
    rows: list[list[Image]] = [[]]
    for block in blocks:
        if rows[-1] and sum(each.width + gap_px for each in rows[-1]) + block.width > WIDEST_PX:
            rows.append([])
        rows[-1].append(block)
    return rows


def _stack(unit: Mapping[str, Any]) -> str:
    """The units that stand in one block: of a kind, and of one list of layers."""
    path = str(unit["unit"])
    parts = path.rsplit(".", 1)[0].split(".") if unit["kind"] == "head" else path.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdigit()]
    if numbers:
        parts[numbers[-1]] = "*"
    return f"{unit['kind']}s {'.'.join(parts)}"


def paths(played: Sequence[Mapping[str, Any]], title: str, size_px: int = 460) -> Image | None:
    """The ways of the gripper from above, one colour for each mask; a ring where each begins, a disc where it ends."""
    from PIL import Image, ImageDraw

    ways = [(each, np.array(each["path"], float)) for each in played if len(each["path"]) > 0]
    if not ways:
        return None
    every = np.concatenate([way for _, way in ways])
    low, high = every.min(0) - 0.03, every.max(0) + 0.03
    scale = size_px / float((high - low).max())
    letters = font(LETTER_PX)
    sheet = Image.new("RGB", (size_px + 380, size_px + 20), (250, 250, 247))
    draw = ImageDraw.Draw(sheet)

    def place(point: Any) -> tuple[float, float]:
        return float((point[0] - low[0]) * scale), float(size_px - (point[1] - low[1]) * scale)

    for metre in np.arange(np.ceil(low[0] * 10) / 10, high[0], 0.1):
        draw.line([place((metre, low[1])), place((metre, high[1]))], (225, 225, 220))
    for metre in np.arange(np.ceil(low[1] * 10) / 10, high[1], 0.1):
        draw.line([place((low[0], metre)), place((high[0], metre))], (225, 225, 220))
    for number, (each, way) in reversed(list(enumerate(ways))):
        colour = LINES[number % len(LINES)]
        points = [place(point) for point in way]
        draw.line(points, colour, 4 if number == 0 else 2)
        (x, y), (end_x, end_y) = points[0], points[-1]
        draw.ellipse((x - 5, y - 5, x + 5, y + 5), outline=colour, width=2)
        draw.ellipse((end_x - 4, end_y - 4, end_x + 4, end_y + 4), fill=colour)
        top = 16 + 34 * number
        draw.rectangle((size_px + 14, top, size_px + 30, top + 12), fill=colour)
        draw.text((size_px + 38, top - 3), f"{each['mask']}"[:44], (30, 30, 30), letters)
        draw.text((size_px + 38, top + 12), str(each["outcome"]), (110, 110, 110), font(11))
    draw.text((4, size_px + 2), "x to the right, y up; lines every 10 cm", (110, 110, 110), font(11))
    return _with_lines(sheet, [title])


def _scaled(picture: Image, factor: float) -> Image:
    from PIL.Image import Resampling

    size = (max(2, round(picture.width * factor)), max(2, round(picture.height * factor)))
    return picture.resize(size, Resampling.NEAREST if factor >= 1 else Resampling.LANCZOS)


def _with_lines(picture: Image, lines: Sequence[str]) -> Image:
    """The picture with words below it."""
    from PIL import Image, ImageDraw

    letters = font(LETTER_PX)
    wrapped = [part for line in lines for part in wrap(line, picture.width - 12, letters)]
    sheet = Image.new("RGB", (picture.width, picture.height + 18 * len(wrapped) + 10), PAPER)
    sheet.paste(picture, (0, 0))
    draw = ImageDraw.Draw(sheet)
    for number, line in enumerate(wrapped):
        draw.text((6, picture.height + 5 + 18 * number), line, INK if number == 0 else FAINT, letters)
    return sheet
