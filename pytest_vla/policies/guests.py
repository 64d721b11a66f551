"""A family's guest in this interpreter, as a policy of ours: the same object that its own environment would hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

SEED_BITS = 63


class GuestPolicy(Policy):
    """Asks a guest, which knows nothing of us: its spec is a dict, its episodes are plain values with a `seed`."""

    def __init__(self, guest: Any) -> None:
        self.guest = guest
        self.model = getattr(guest, "model", None)
        self.spec = PolicySpec.from_dict(guest.spec)
        self.masks_text = bool(getattr(guest, "masks_text", False))
        if callable(getattr(guest, "log_prob", None)):
            self.log_prob = guest.log_prob

    def to(self, device: str) -> GuestPolicy:
        self.guest.to(device)
        return self

    def reset(self, episode: EpisodeKey) -> Any:
        return self.guest.reset(SimpleNamespace(**as_guests_see(episode)))

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        try:
            return list(self.guest.act(list(observations), list(states)))
        except ValueError as error:
            raise PolicyError(str(error)) from error


def as_guests_see(episode: EpisodeKey) -> dict[str, Any]:
    """A key as plain data: its fields, and a number to draw from."""
    return {**asdict(episode), "seed": episode.seed("policy") % (1 << SEED_BITS)}
