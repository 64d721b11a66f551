"""What a picture is; `LazyImages` draws one when somebody looks at it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_vla.drawing import LazyImages

__all__ = ["Image", "LazyImages"]

Image = NDArray[np.uint8]
