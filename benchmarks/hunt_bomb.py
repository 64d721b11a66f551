"""Planted brittleness end to end: a hunt over real BOMB episodes, with an oracle that gives up in known regions.

    python -m benchmarks.hunt_bomb [--quick]

The last line is one JSON line with the verdict.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.outcome import Budget, Probe
from pytest_vla.hunt.search import Hunt
from pytest_vla.hunt.space import Space
from pytest_vla.perturb import Perturbation
from pytest_vla.policies import Policy
from pytest_vla.registry import get_suite
from pytest_vla.rollout import rollout

AXES = (
    *("camera.yaw", "light.brightness", "appearance.table_texture", "layout.objects", "object.friction"),
    *("robot.action_noise", "language.typos", "language.paraphrase"),
)
PLANTED = (
    {"language.typos": 6},
    {"camera.yaw": 4, "light.brightness": 3},
    {"language.paraphrase": 3, "appearance.table_texture": 5},
)
EPISODES, QUICK_EPISODES = 250, 200
SPACE = Space.of(AXES)


class GivesUp(Policy):
    """The oracle, which does nothing in an episode whose perturbation is in a planted region."""

    def __init__(self, oracle: Policy, idle: Any) -> None:
        self.oracle, self.idle = oracle, idle

    def reset(self, episode: EpisodeKey) -> tuple[bool, Any]:
        point = SPACE.point(Perturbation.parse(episode.perturbation))
        breaks = any(SPACE.covers(point, SPACE.point(Perturbation.of(region))) for region in PLANTED)
        return breaks, self.oracle.reset(episode)

    def act(self, observations: Sequence[Any], states: Sequence[tuple[bool, Any]]) -> list[Any]:
        actions = self.oracle.act(observations, [state for _, state in states])
        return [self.idle if breaks else action for action, (breaks, _) in zip(actions, states, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    budget = QUICK_EPISODES if parser.parse_args().quick else EPISODES
    suite = get_suite("bomb")
    env = suite.make_env("place_stone")
    policy = GivesUp(suite.oracle(env), suite.noop(env))

    def ask(probes: Sequence[Probe]) -> list[bool | None]:
        episodes = [
            suite.episode("place_stone", "unperturbed", probe.seed, str(SPACE.perturbation(probe.point)))
            for probe in probes
        ]
        results = [rollout(policy, env, episode) for episode in episodes]
        return [None if result.outcome == "error" else bool(result) for result in results]

    start = time.perf_counter()
    outcome = Hunt(SPACE, ask, Budget(budget)).run()
    env.close()
    spent = time.perf_counter() - start
    found = [str(SPACE.perturbation(cause.point)) for cause in outcome.causes]
    wanted = [str(Perturbation.of(region)) for region in PLANTED]
    for cause in outcome.causes:
        name = str(SPACE.perturbation(cause.point))
        print(f"{name}: fails {cause.failed} of {cause.asked}, {'planted' if name in wanted else 'NOT planted'}")
    exact = len(set(found) & set(wanted))
    print(f"{exact} of {len(wanted)} planted causes found exactly in {outcome.episodes} BOMB episodes, {spent:.0f} s")
    verdict = {
        "name": "hunt_bomb",
        "exact": exact,
        "found": len(found),
        "errors": outcome.errors,
        "target": len(wanted),
    }
    print(json.dumps({**verdict, "seconds": round(spent, 1), "ok": exact == len(wanted) == len(found)}))


if __name__ == "__main__":
    main()
