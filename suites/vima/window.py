"""What a person looks at while a program plays: the prompt as a picture, in a window where there is a display."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from typing import TYPE_CHECKING, Any

from .kit.prompt import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH_PX, HEIGHT_PX, GAP_PX = 1024, 128, 8
TITLE = "VIMA prompt"


def display_missing() -> str:
    """Why no window can be opened here; empty where one can."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display (DISPLAY is not set)"
    return ""


def prompt_picture(prompt: Prompt) -> Image:
    """The prompt in reading order, words and pictures of the top camera, in as many rows as it takes."""
    from PIL import Image, ImageDraw, ImageFont

    letters = ImageFont.load_default(size=20)
    parts = []
    for piece in prompt.pieces():
        if piece.image is not None:
            parts.append(Image.fromarray(piece.image.rgb["top"]))
            continue
        for word in piece.text.split():
            part = Image.new("RGB", (round(letters.getlength(word)) + GAP_PX, HEIGHT_PX), "white")
            ImageDraw.Draw(part).text((0, HEIGHT_PX // 2), word, "black", letters, anchor="lm")
            parts.append(part)
    places, x, y = [], 0, 0
    for part in parts:
        if x and x + part.width > WIDTH_PX:
            x, y = 0, y + HEIGHT_PX
        places.append((x, y))
        x += part.width
    page = Image.new("RGB", (WIDTH_PX, y + HEIGHT_PX), "white")
    for part, place in zip(parts, places, strict=True):
        page.paste(part, place)
    return page


class PromptWindow:
    """A window that shows the newest prompt. Where none can be opened it says so once, and shows nothing."""

    def __init__(self) -> None:
        self._root: Any = None
        self._label: Any = None
        self._said = False

    def show(self, picture: Image) -> None:
        try:
            self._show(picture)
        except Exception as error:  # tkinter is not everywhere, and a display may be lost at any time
            self.close()
            if not self._said:
                print(f"render_prompt: no window for the prompt: {error}", file=sys.stderr)
                self._said = True

    def _show(self, picture: Image) -> None:
        missing = display_missing()
        if missing:
            raise RuntimeError(missing)
        import tkinter

        if self._root is None:
            self._root = tkinter.Tk()
            self._root.title(TITLE)
            self._label = tkinter.Label(self._root)
            self._label.pack()
        data = BytesIO()
        picture.save(data, "PPM")
        self._label.image = tkinter.PhotoImage(data=data.getvalue())  # the label alone does not keep it
        self._label.configure(image=self._label.image)
        self._root.update()

    def close(self) -> None:
        if self._root is not None:
            self._root.destroy()
            self._root = None
