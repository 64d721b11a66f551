"""One examination, from a policy and a suite to what is wrong with the wiring between them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.doctor.agreement import Agreement, agreement, answers
from pytest_vla.doctor.candidates import ONLY_PLAYED, Change, changes, fitted_scale, together, wanted_cameras
from pytest_vla.doctor.checks import Checked, check
from pytest_vla.doctor.findings import Examination, Finding, config_lines, cure_of
from pytest_vla.doctor.recorded import Recorded, episode_keys, looked_at, record
from pytest_vla.doctor.trials import BASELINE, FALSE_ALARMS, WORKS, Played, Trials
from pytest_vla.inference.cost import measured_cost
from pytest_vla.policies import PolicySource, SharedSource
from pytest_vla.policies.chunking import Chunked
from pytest_vla.policies.conventions.converted import Converted, fitted
from pytest_vla.policies.conventions.corrections import fault_of
from pytest_vla.rollout import rollout
from pytest_vla.run.intervals import rate_interval

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey, Result
    from pytest_vla.policies import Policy, PolicySpec
    from pytest_vla.suite import Suite

EPISODES = 60
DEMONSTRATED = 4  # episodes of the oracle
BEST_FEW = 5  # changes that are played
BEST_SINGLES = 4  # changes that are tried together with others: the first two with all, the rest with PARTNERS
PARTNERS = 8
BETTER = 0.08  # of agreement: less is no reason to play a change
MAX_ENVS = 4
OFFLINE_S, CHANGES = 900.0, 150  # what recorded episodes may take, and about how many changes that is for
LEAST_STEPS = 12
SIMPLER = 0.03  # of agreement that a second change must be worth
ALIKE = 0.25  # agreement: a policy that has less, and solves nothing, does not act as was demonstrated


@dataclass
class Doctor:
    """What an examination holds: the policy, where it acts, and what is left to spend."""

    source: PolicySource
    suite: Suite
    tasks: Sequence[str] = ()
    partitions: Sequence[str] = ()
    first: int = 0
    episodes: int = EPISODES
    fresh: Callable[[list[Any]], list[Any] | None] = lambda rows: None
    tell: Callable[[str], None] = lambda line: None
    timeout: float | None = None
    _envs: dict[str, Any] = field(default_factory=dict)
    _agreed: list[tuple[float, Change]] = field(default_factory=list)  # changes on recorded observations

    def examine(self) -> Examination:
        """All of it, on one thread; environments are closed at the end."""
        start = perf_counter()
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(1)  # many small calls on a busy machine: threads would only wait for each other
        try:
            made = self._examine()
        finally:
            for env in self._envs.values():
                env.close()
            self._envs.clear()
        return replace(made, seconds=round(perf_counter() - start, 1))

    def _examine(self) -> Examination:
        nothing = Examination(self.source.text, self.suite.name)
        recorded, spent = self._record()
        checked = self._check(recorded)
        cost = self._cost(recorded)
        remarks = tuple(checked.remarks)
        if any(finding.name == "broken" for finding in checked.findings):
            return replace(nothing, findings=tuple(checked.findings), remarks=remarks, episodes=spent, cost=cost)
        trials = Trials(self._played_keys, self.episodes, spent)
        as_it_is = Played()
        trials.play(as_it_is, lambda key: self._play(key, {}), 4)
        one_row = cost.get("calls", {}).get("1", {}).get("p50_ms", 0.0) / 1e3
        shown = _affordable([each for each in recorded if each.actions is not None], one_row, self.source.spec)
        offline = self._offline(shown, {})
        findings = list(checked.findings)
        tried: list[Mapping[str, Any]] = []
        if as_it_is.tally[0] < WORKS and isinstance(self.source, SharedSource):
            trials.play(as_it_is, lambda key: self._play(key, {}), BASELINE)
            found, tried = self._try(trials, as_it_is, shown, offline)
            findings += [found] if found is not None else _unplayable(as_it_is)
        remarks += tuple(_late(cost))
        if offline is not None and offline.outside:
            remarks += (offline.outside,)
        if not findings and not _acts_alike(as_it_is, offline):
            remarks += tuple(self._nearest())
        return replace(
            nothing,
            findings=tuple(findings),
            remarks=remarks,
            verdict=self._verdict(bool(findings), as_it_is, offline),
            episodes=trials.spent,
            offline={} if offline is None else {"agreement": offline.score, **offline.skills, **offline.details},
            cost=cost,
            tried=tuple(tried),
        )

    # --- without the simulator ---------------------------------------------------------------------------------------

    def _record(self) -> tuple[list[Recorded], int]:
        """A few episodes by the oracle; where there is none, how a few begin."""
        spec, cameras = self.source.spec, wanted_cameras(self.source.spec, self.suite)
        keys = islice(episode_keys(self.suite, self.tasks, self.partitions, self.first), 2 * DEMONSTRATED)
        recorded: list[Recorded] = []
        spent = 0
        for key in keys:
            if len(recorded) == DEMONSTRATED:
                break
            env = self._env_for(key.task)
            if not self.suite.has_oracle:
                recorded.append(looked_at(self.suite, env, key, spec, cameras))
                continue
            self.tell(f"doctor: the oracle plays {key} ...")
            episode, _ = record(self.suite, env, key, spec, cameras)
            spent += 1
            recorded += [episode] if episode is not None else []
        if not recorded:
            recorded = [looked_at(self.suite, env, key, spec, cameras)]
        return recorded, spent

    def _check(self, recorded: list[Recorded]) -> Checked:
        """A policy that is made for each environment has no batches and looks at nothing but its environment."""
        if not isinstance(self.source, SharedSource):
            return Checked([], [])
        self.tell("doctor: what must hold of any policy ...")
        policy = self._unchunked()
        return check(policy, recorded, partial(self._fresh, policy))

    def _fresh(self, policy: Policy, rows: list[Any]) -> list[Any] | None:
        """Answers of a new process, which is given what the policy itself sees: it knows of no suite."""
        if not isinstance(policy, Converted):
            return self.fresh(rows)
        return self.fresh([(key, _drawn(policy.conversion.see(observation))) for key, observation in rows])

    def _cost(self, recorded: list[Recorded]) -> Mapping[str, Any]:
        if not isinstance(self.source, SharedSource):
            return {}
        rows = [(each.key, each.observations[0]) for each in recorded]
        try:
            return measured_cost(self._unchunked(), rows, self.source, self.suite.control_hz)
        except Exception:  # whatever a policy raises is said by the checks
            return {}

    def _unchunked(self) -> Policy:
        """The policy as it answers, chunks whole."""
        return fitted(asked_policy(self.source), self.suite, None, self.source.corrections, whole_chunks=True)

    def _offline(self, shown: list[Recorded], change: Change) -> Agreement | None:
        """How well the policy agrees with what was demonstrated; None where nothing was, or it cannot answer."""
        if not shown or not isinstance(self.source, SharedSource):
            return None
        try:
            policy = self._variant(change, None)
            return agreement(self.suite, shown, answers(policy, self.suite, shown))
        except Exception:  # a change may make any policy raise: then it is not what was missing
            return None

    def _ranked(self, shown: list[Recorded], as_it_is: Agreement | None) -> list[tuple[Change, Agreement | None]]:
        """Changes worth playing, the best first: singles, and pairs where two are better than one."""
        spec, before = self.source.spec, self.source.corrections
        single = changes(spec, self.suite, before)
        if as_it_is is None:
            return [(change, None) for change in single]
        self.tell(f"doctor: {len(single)} changes on recorded observations ...")
        scored = self._scored(shown, [*single, *_fitted(single, as_it_is, before)])
        scored.sort(key=lambda each: -each[1].score)
        pairs: list[tuple[Change, Agreement]] = []
        promising = [change for change, _ in scored[:PARTNERS]]
        for place, (best, found) in enumerate(scored[:BEST_SINGLES]):
            if found.score <= as_it_is.score + BETTER / 2:
                break
            others = changes(spec, self.suite, together(before, best), kept=best)
            others = [c for c in others if place < 2 or any(_same(c, each) for each in promising)]
            both = [{**best, **other} for other in [*others, *_fitted(others, found, together(before, best))]]
            new = [pair for pair in both if not any(_same(pair, known) for known, _ in pairs)]
            pairs += self._scored(shown, new)
        ranked = [each for each in [*scored, *pairs] if each[1].score > as_it_is.score + BETTER]
        ranked.sort(key=lambda each: -(each[1].score - SIMPLER * len(each[0])))
        played: list[tuple[Change, Agreement | None]] = [(c, None) for c in single if set(c) & set(ONLY_PLAYED)]
        return [*_distinct(ranked)[:BEST_FEW], *played]

    def _scored(self, shown: list[Recorded], tried: Sequence[Change]) -> list[tuple[Change, Agreement]]:
        made = [(change, self._offline(shown, change)) for change in tried if not set(change) & set(ONLY_PLAYED)]
        answered = [(change, found) for change, found in made if found is not None]
        self._agreed += [(found.score, change) for change, found in answered]
        return answered

    # --- by playing --------------------------------------------------------------------------------------------------

    def _try(
        self, trials: Trials, as_it_is: Played, shown: list[Recorded], offline: Agreement | None
    ) -> tuple[Finding | None, list[Mapping[str, Any]]]:
        tried: list[Mapping[str, Any]] = []
        for change, found in self._ranked(shown, offline):
            if trials.left < 3:
                break
            self.tell(f"doctor: playing with {config_lines(change)} ...")
            after, value, helps = trials.judge(as_it_is, partial(self._play, change=change))
            score = None if found is None else round(found.score, 3)
            tried.append({"change": dict(change), "agreement": score, "solved": list(after.tally)})
            if helps:
                return self._found(change, as_it_is, after, value, offline, found), tried
        return None, tried

    def _found(
        self,
        change: Change,
        before: Played,
        after: Played,
        value: float,
        offline: Agreement | None,
        found: Agreement | None,
    ) -> Finding:
        low, high = rate_interval(*after.tally)
        evidence = [
            f"solved {before} -> {after} (95 % interval [{100 * low:.0f}, {100 * high:.0f}] %)",
            f"at most {min(value, 1.0):.2g} by chance, all looks counted; false alarms at most {FALSE_ALARMS:g}",
        ]
        if offline is not None and found is not None:
            evidence.insert(0, f"agreement with demonstrations {offline} -> {found}")
        written = self.source.corrections
        return Finding(
            fault=" and ".join(fault_of(name, value, written.get(name)) for name, value in change.items()),
            cure=cure_of(change, written),
            before=str(before),
            after=str(after),
            evidence="; ".join(evidence),
            name="+".join(change),
            config=dict(change),
            confidence=round(1 - min(value, 1.0), 4),
        )

    def _play(self, key: EpisodeKey, change: Change) -> Result:
        env = self._env_for(key.task)
        policy = (
            self._variant(change, env) if isinstance(self.source, SharedSource) else self.source.bind(self.suite, env)
        )
        result = rollout(policy, env, key, timeout=self.timeout)
        if result.outcome == "error" and result.reason == "env_error":
            self._envs.pop(self.suite.env_group(key.task)).close()
        return result

    def _variant(self, change: Change, env: gymnasium.Env[Any, Any] | None) -> Policy:
        """The policy as it acts in the suite with a change."""
        assert isinstance(self.source, SharedSource)
        return fitted(self.source.policy, self.suite, env, together(self.source.corrections, change))

    def _played_keys(self) -> Iterator[EpisodeKey]:
        """Other episodes than the recorded ones."""
        return episode_keys(self.suite, self.tasks, self.partitions, self.first + 2 * DEMONSTRATED)

    def _env_for(self, task: str) -> gymnasium.Env[Any, Any]:
        group = self.suite.env_group(task)
        if group not in self._envs:
            while len(self._envs) >= MAX_ENVS:
                self._envs.pop(next(iter(self._envs))).close()
            self._envs[group] = self.suite.make_env(task)
        env: gymnasium.Env[Any, Any] = self._envs[group]
        return env

    def _verdict(self, found: bool, as_it_is: Played, offline: Agreement | None) -> str:
        agrees = "not compared with demonstrations" if self.suite.has_oracle else "no demonstrations to compare with"
        if offline is not None:
            agrees = f"agreement with demonstrations {offline}"
        if found:
            return f"as it is: solved {as_it_is}, {agrees}"
        unsolved = Counter(str(result.reason) for result in as_it_is.results if not result)
        ends = ", ".join(f"{count} {reason}" for reason, count in unsolved.most_common())
        far = "" if as_it_is.progress is None or not unsolved else f", mean progress {as_it_is.progress:.2f}"
        rest = f"; ends by {ends}{far}" if ends else ""
        how = "wrong" if _acts_alike(as_it_is, offline) else "found"
        return f"nothing {how} in the wiring: solved {as_it_is}, {agrees}{rest}"

    def _nearest(self) -> list[str]:
        """What there is to say of a policy that no change makes act as demonstrated."""
        if not self._agreed:
            return []
        best, change = max(self._agreed, key=lambda each: each[0])
        untrained = ": so looks a policy that was not trained for these tasks" if best < ALIKE else ""
        tried = f"{len(self._agreed)} changes were tried on recorded observations, and none that was played helps"
        return [f"{tried}; the best, `{config_lines(change)}`, has an agreement of {best:.2f}{untrained}"]


def _acts_alike(as_it_is: Played, offline: Agreement | None) -> bool:
    """Whether there is a sign that a policy does what is asked: where there is none, its wiring may be anything."""
    return bool(as_it_is.tally[0]) or (offline is not None and offline.score >= ALIKE)


def _unplayable(as_it_is: Played) -> list[Finding]:
    """What is wrong with a policy whose every episode ends in an error of its own."""
    failed = [result for result in as_it_is.results if result.reason in ("policy_error", "timeout")]
    if not failed or len(failed) < len(as_it_is.results):
        return []
    first = failed[0]
    text = (first.message.strip().splitlines() or [str(first.reason)])[-1]
    before = f"{len(failed)} of {len(failed)} episodes end by {first.reason}"
    cure = "mend the policy, or what it declares of its answers"
    return [Finding(f"no episode can be played: {text}", cure, before, "", f"as in {first.episode}", "broken")]


def _late(cost: Mapping[str, Any]) -> list[str]:
    """What there is to say of a policy that a robot would have to wait for."""
    wanted = max([*cost.get("control_hz", {}).values(), 0.0])
    if not 0 < cost.get("hz", wanted) < wanted:
        return []
    return [f"it is late: {cost['hz']:g} actions a second, and the robot takes {wanted:g}; only simulated time waits"]


def _drawn(observation: Mapping[str, Any]) -> dict[str, Any]:
    """An observation with its pictures, which are drawn when somebody looks, as arrays."""
    images = observation.get("images", {})
    return {**observation, "images": {name: np.asarray(images[name]) for name in images}}


def asked_policy(source: PolicySource) -> Policy:
    """The policy of a source as it answers, not as its chunks are executed."""
    assert isinstance(source, SharedSource)
    return source.policy.policy if isinstance(source.policy, Chunked) else source.policy


def _affordable(shown: list[Recorded], call_s: float, spec: PolicySpec) -> list[Recorded]:
    """As many of the recorded episodes as a slow policy can be asked about for every change."""
    steps = min(spec.horizon or spec.chunk, spec.chunk)
    most = max(int(OFFLINE_S / CHANGES / max(call_s, 1e-4)) * steps, LEAST_STEPS)
    kept: list[Recorded] = []
    for episode in shown:
        left = most - sum(len(each.observations) for each in kept)
        if left < min(LEAST_STEPS, len(episode.observations)):
            break
        kept.append(replace(episode, observations=episode.observations[:left], actions=episode.actions[:left]))
    return kept


def _fitted(singles: Sequence[Change], found: Agreement, before: Change) -> list[Change]:
    """The scale that demonstrations ask for, where it is none of the usual ones."""
    scale = fitted_scale(found.details.get("scale", 1.0) * before.get("scale", 1.0))
    usual = [change["scale"] for change in singles if "scale" in change]
    return [{"scale": scale}] if usual and scale is not None and scale not in usual else []


def _same(one: Change, other: Change) -> bool:
    return dict(one) == dict(other)


def _distinct(ranked: list[tuple[Change, Agreement]]) -> list[tuple[Change, Agreement]]:
    """Without changes that are one that ranks higher, and something more that is worth nothing."""
    kept: list[tuple[Change, Agreement]] = []
    for change, found in ranked:
        if not any(_is_part(known, change) and found.score <= other.score + SIMPLER for known, other in kept):
            kept.append((change, found))
    return kept


def _is_part(one: Change, other: Change) -> bool:
    return len(one) < len(other) and all(name in other and other[name] == value for name, value in one.items())
