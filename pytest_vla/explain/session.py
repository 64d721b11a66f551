"""Explanations that somebody asked for: the policy of a run, or another one, in a server of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_vla.explain.errors import ExplainError
from pytest_vla.inference.session import open_policy
from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.policies.kinds import kind_of
from pytest_vla.replay import consent

if TYPE_CHECKING:
    from pytest_vla.policies import PolicySource
    from pytest_vla.run import Run

TIMEOUT_S = 600.0


@contextmanager
def policy_of(run: Run, typed: str | None, trust: bool) -> Iterator[PolicySource]:
    """The policy of a run, asked as it was asked then; it lives in a server, as in a run with `-n`."""
    text = typed or run.policy.text
    if text in BUILTIN:
        raise ExplainError(
            f"policy '{text}' looks at no observation that could be changed: name one that does with --vla-policy=SPEC"
        )
    if typed is None:
        consent(trust, f"use the policy {text!r}", f"--vla-policy={shlex.quote(text)}")
    with opened(replace(Settings.from_dict(run.options).inference, policy=text, device=())) as source:
        yield source


@contextmanager
def opened(options: InferenceOptions) -> Iterator[PolicySource]:
    assert options.policy is not None
    workers = 1 if kind_of(options.policy).place == "server" else 0
    source, service = open_policy(options, TIMEOUT_S, workers)
    try:
        yield source
    finally:
        if service is not None:
            service.close()
