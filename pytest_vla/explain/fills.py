"""What hides a patch, by name: light, so that help can list it."""

from __future__ import annotations

from typing import Literal, get_args

Fill = Literal["mean", "blur", "inpaint"]
FILLS: tuple[Fill, ...] = get_args(Fill)
