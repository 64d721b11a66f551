"""Which policy a run is about: its content, and what else changes its answers. Runs of two policies never mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Identity:
    """As the provenance of a run file has it; None where an older file does not say."""

    text: str
    digest: str
    verified: bool | None = None
    """Whether the digest covers all that answers: a factory's weights and a remote server's model it cannot see."""
    horizon: int | None = None
    ensemble: str | None = None
    batch: int | None = None
    """Rows of every call in a deterministic run."""

    @classmethod
    def from_provenance(cls, provenance: Mapping[str, Any]) -> Identity:
        policy = provenance.get("policy")
        policy = policy if isinstance(policy, Mapping) else {}
        known = {name: policy.get(name) for name in ("verified", "horizon", "ensemble", "batch")}
        return cls(str(policy.get("text", "unknown")), str(policy.get("digest", "")), **known)

    @property
    def builtin(self) -> bool:
        """Whether every installation has it: no file, module or server has to be asked."""
        return self.digest.startswith("builtin:")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def difference(self, other: Identity) -> str | None:
        """What this one is and the other is not; None where they are the same as far as anybody can know."""
        if self.digest != other.digest:
            return f"policy '{self.text}' ({self.digest}), this is '{other.text}' ({other.digest})"
        for name in ("horizon", "ensemble", "batch"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and self.verified is not None and other.verified is not None:
                word = "deterministic batch" if name == "batch" else name
                return f"policy '{self.text}' at {word} {_said(mine)}, this is at {_said(theirs)}"
        return None

    def __str__(self) -> str:
        content, plus, computed = self.digest.partition("+")  # in another precision, or compiled: another policy
        digest = "" if self.builtin else f" ({content[:19]}{plus}{computed})"
        return f"{self.text}{digest}{', unverified' if self.verified is False else ''}"


def _said(value: Any) -> str:
    return "none" if value is None else str(value)
