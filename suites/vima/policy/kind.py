"""How `--vla-policy` takes checkpoints of the original VIMA; light, so that help can list it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.policies import Kind

if TYPE_CHECKING:
    from pytest_vla.policies import SharedSource


def _load(text: str) -> SharedSource:
    from .original import load

    return load(text)


KIND = Kind(
    "PATH.ckpt",
    "a checkpoint of the original VIMA (2M to 200M), with T5's `tokenizer.json` beside it",
    lambda text: text.endswith(".ckpt") and "://" not in text,
    _load,
    install="pytest-vla[vima-original]",
)
