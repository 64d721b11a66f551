"""Where the policy of a run lives: in this process without `-n`, in servers of its own with it; and how it is asked."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pytest_vla.inference.threads import bound_threads
from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies.base import Policy, PolicySpec
from pytest_vla.policies.chunking import execution
from pytest_vla.policies.compute import Compute
from pytest_vla.policies.conventions import check_corrections, preset
from pytest_vla.policies.digests import text_digest
from pytest_vla.policies.kinds import kind_of, load_policy, load_shared
from pytest_vla.policies.source import PolicySource, SharedSource

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_vla.inference.service import Service, ServiceOptions
    from pytest_vla.inference.status import Statistics

DEFAULT_BATCH = 32


class Counting(Protocol):
    """Servers of this machine, or of a cluster: what a run asks of them at its end."""

    @property
    def pids(self) -> list[int]: ...

    @property
    def weights(self) -> dict[str, int]: ...

    def total(self) -> Statistics: ...

    def statistics(self) -> dict[str, Any]: ...


DEFAULT_FIXED_BATCH = 8  # rows every call of a deterministic run has, whether or not they are used


def local_source(options: InferenceOptions) -> PolicySource:
    """The policy loaded into this process."""
    assert options.policy is not None
    bound_threads()
    source = load_policy(options.policy)
    if not isinstance(source, SharedSource):
        return source
    device = options.device[0] if options.device else "cpu"
    return loaded_source(source.computing(device, Compute(options.dtype, options.compile)), options)


def loaded_source(source: SharedSource, options: InferenceOptions) -> SharedSource:
    """A policy that is loaded in this process, asked as a run asks it."""
    from pytest_vla.inference.local import LocalPolicy

    return _asked_as_told(source, LocalPolicy(source.policy, fixed_batch(options)), options)


def served_sources(options: InferenceOptions) -> list[SharedSource]:
    """The policy for other harnesses, on every device that is named: what a run would ask, without its chunking."""
    assert options.policy is not None
    bound_threads(len(options.device) or 1)
    sources = []
    for device in options.device or ("cpu",):
        source = _as_meant(load_shared(options.policy), options)
        source = source.computing(device, Compute(options.dtype, options.compile))
        horizon, ensemble = execution(source.spec, options.horizon, options.ensemble)
        chunked = source.spec.chunk > 1
        sources.append(replace(source, horizon=horizon if chunked else None, ensemble=ensemble if chunked else None))
    return sources


def held_source(policy: Policy, options: InferenceOptions) -> PolicySource:
    """A policy that somebody holds in this process, asked as if it had been named."""
    from pytest_vla.inference.local import LocalPolicy
    from pytest_vla.policies.digests import factory_digest

    digest, verified = factory_digest(type(policy), policy)
    text = f"{type(policy).__module__}:{type(policy).__name__}"
    spec = getattr(policy, "spec", PolicySpec())
    source = SharedSource(text=text, digest=f"sha256:{digest}", verified=verified, spec=spec, policy=policy)
    return _asked_as_told(source, LocalPolicy(policy, fixed_batch(options)), options)


def open_policy(
    options: InferenceOptions, timeout: float, workers: int, logs: Path | None = None
) -> tuple[PolicySource, Service | None]:
    """On the controller: the policy, checked, and the servers that hold it where there are workers to serve."""
    service = start_service(options, timeout, workers, logs) if workers else None
    if service is None:
        return local_source(options), None
    return remote_source(told(service), options, timeout), service


def recorded_source(text: str, recorded: Mapping[str, Any]) -> PolicySource:
    """A policy in this process, asked in the way the options of a run file say it was asked then."""
    return local_source(replace(Settings.from_dict(recorded).inference, policy=text, device=()))


def start_service(options: InferenceOptions, timeout: float, workers: int, logs: Path | None = None) -> Service | None:
    """The servers for so many workers, or None for a policy that lives in each worker because it needs the env."""
    wanted = service_options(options, timeout, workers, logs)
    if wanted is None:
        return None
    from pytest_vla.inference.service import Service

    return Service.start(wanted)


def service_options(
    options: InferenceOptions, timeout: float, workers: int, logs: Path | None = None
) -> ServiceOptions | None:
    """How to serve so many workers; None for a policy that lives in each of them."""
    if options.policy is None or kind_of(options.policy).place == "env":
        return None
    from pytest_vla.inference.service import ServiceOptions

    return ServiceOptions(
        policy=options.policy,
        devices=options.device or ("cpu",),
        dtype=options.dtype,
        compiled=options.compile,
        batch=fixed_batch(options) or _number(options, DEFAULT_BATCH),
        fixed=fixed_batch(options) > 0,
        limit=timeout,
        tune=options.batch == "auto" and not options.deterministic,
        clients=workers,
        logs=logs,
    )


def local_workers(config: pytest.Config) -> int:
    """How many xdist workers a server could have here; 0 where some run elsewhere, or there are no Unix sockets."""
    specs = [str(spec) for spec in config.getoption("tx", None) or ()]
    reachable = hasattr(socket, "AF_UNIX") and all(spec.endswith("popen") for spec in specs)
    return len(specs) if reachable else 0


def told(service: Service, worker: str = "gw0") -> dict[str, Any]:
    """What a worker has to be told: built-in types only. Workers begin with replicas in turn, and know all of them."""
    number = int("".join(filter(str.isdigit, worker)) or 0) % len(service.addresses)
    return {
        "addresses": [*service.addresses[number:], *service.addresses[:number]],
        "digest": service.digest,
        "verified": service.verified,
        "spec": service.spec.to_dict(),
    }


def remote_source(served: Mapping[str, Any], options: InferenceOptions, timeout: float) -> PolicySource:
    """The policy as a worker sees it."""
    from pytest_vla.inference.client import InferenceClient

    assert options.policy is not None
    spec = PolicySpec.from_dict(served["spec"])
    client = InferenceClient(served.get("addresses", ()), spec, timeout, _far_lanes(served, options, timeout))
    source = SharedSource(
        text=options.policy, digest=served["digest"], verified=served["verified"], spec=spec, policy=client
    )
    return _asked_as_told(source, client, options)


def _far_lanes(served: Mapping[str, Any], options: InferenceOptions, timeout: float) -> Callable[[], Any] | None:
    """On a cluster: how to reach the replica of this worker, wherever that is by now."""
    if "directory" not in served:
        return None
    from pytest_vla.inference.far import FarLane, find_replica

    find = partial(find_replica, served["directory"], served["node"], served["number"])
    return lambda: FarLane(find, timeout, options.wire)


def statistics(service: Counting, transport_s: float) -> dict[str, Any]:
    """The line of the run file about the servers; transport is what the clients saw beyond queue and compute."""
    found = service.statistics()
    return {"type": "inference", **found, "transport_ms": round(1e3 * transport_s / max(found["requests"], 1), 3)}


def cost(source: PolicySource, service: Counting | None, control_hz: Mapping[str, float]) -> dict[str, Any] | None:
    """The line of the run file about what the policy costs; None for one that is no model of its own."""
    from pytest_vla.inference.cost import cost_record, peak_memory, weights_of
    from pytest_vla.inference.local import LocalPolicy

    if service is not None:
        memory = sum(map(peak_memory, service.pids))
        return cost_record(service.total(), service.weights, memory, source.spec, control_hz)
    policy: Any = getattr(source, "policy", None)
    while policy is not None and not isinstance(policy, LocalPolicy):
        policy = getattr(policy, "policy", None)
    if policy is None or not policy.statistics.requests:
        return None
    weights = weights_of(policy, source.text)
    return cost_record(policy.statistics, weights, peak_memory(), source.spec, control_hz)


def describe(record: Mapping[str, Any]) -> list[str]:
    """The same for the terminal."""
    from pytest_vla.inference import status, tuning

    lines = [f"inference: {status.describe(record)}"] if record["requests"] else []
    if "tuned" in record:
        lines += [f"inference: {line}" for line in tuning.describe(record["tuned"])]
    return lines + [f"inference: a server {death.splitlines()[0]} and was started again" for death in record["deaths"]]


def describe_recorded(record: Mapping[str, Any]) -> list[str]:
    """The same of a line of a run file, which may hold anything."""
    try:
        return describe(record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        return ["inference: the statistics of the servers cannot be read"]


def fixed_batch(options: InferenceOptions) -> int:
    """Rows of every call in a deterministic run, 0 in others."""
    if not options.deterministic or options.policy is None or kind_of(options.policy).place == "elsewhere":
        return 0  # what a remote server does with its batches is not ours to say
    return _number(options, DEFAULT_FIXED_BATCH)


def mode_lines(settings: Settings) -> list[str]:
    """Whether the answers of a judged run are the same bits at any `-n`, and why not."""
    asked = settings.inference
    if asked.policy is None or not (asked.deterministic or settings.gate.gating or settings.robustness.hunt):
        return []
    place = kind_of(asked.policy).place
    if place == "elsewhere":
        return ["vla: not deterministic: what a remote server puts into one batch is not ours to say"]
    if place == "env" or not asked.deterministic:
        return []
    rows = fixed_batch(asked)
    return [f"vla: deterministic, {rows} row{'s' * (rows > 1)} a call; --vla-no-deterministic batches freely"]


def _number(options: InferenceOptions, default: int) -> int:
    return default if options.batch in (None, "auto") else int(options.batch)


def _asked_as_told(source: SharedSource, policy: Policy, options: InferenceOptions) -> SharedSource:
    """The same source whose policy sees what it declared and is asked once per horizon."""
    from pytest_vla.inference.local import Declared

    source = _as_meant(source, options)
    asked: Policy = Declared(policy, source.spec)
    source = replace(source, batch=fixed_batch(options) or None)
    if source.spec.chunk <= 1:
        return replace(source, policy=asked)
    from pytest_vla.policies.chunking import Chunked

    horizon, ensemble = execution(source.spec, options.horizon, options.ensemble)
    return replace(source, policy=Chunked(asked, horizon, ensemble), horizon=horizon, ensemble=ensemble)


def _as_meant(source: SharedSource, options: InferenceOptions) -> SharedSource:
    """The same source with the conventions of a preset and a person's corrections: both change what it does."""
    corrections = check_corrections(options.conventions)
    spec = source.spec
    if options.preset is not None:
        spec = replace(spec, conventions=preset(options.preset), horizon=preset(options.preset).horizon or spec.horizon)
    if options.preset is None and not corrections:
        return source
    told = json.dumps([spec.conventions.to_dict(), corrections], sort_keys=True, default=str)
    digest = f"{source.digest}+conventions:{text_digest(told)[:16]}"
    return replace(source, spec=spec, corrections=corrections, digest=digest)
