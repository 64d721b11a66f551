"""Does the doctor name planted faults of wiring and their cure, and nothing on healthy policies, however bad?

Parts: `checks` (faults that need no simulator), `faults` (12), `pairs` (6) and `healthy` (20, most of them far below
10 %). `--quick` takes what runs in two minutes: the suite that needs no simulator, without its ACT, and three cases
of BOMB.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping
from typing import Any

import pytest_vla as vla
from benchmarks import doctor_plants as plants
from benchmarks.reach_act import act_is_trainable
from pytest_vla.doctor.checks import check
from pytest_vla.doctor.examine import Doctor, asked_policy
from pytest_vla.doctor.findings import Examination
from pytest_vla.inference.local import Declared, LocalPolicy
from pytest_vla.policies import PolicySource, SharedSource
from pytest_vla.policies.chunking import Chunked, execution
from pytest_vla.policies.conventions.converted import fitted
from pytest_vla.policies.kinds import load_policy

TARGET = {"faults": 11, "pairs": 5, "false_alarms": 0, "checks": 4, "most_episodes": 60, "healthy_below_10": 8}
PARTS = ("checks", "faults", "pairs", "healthy")
QUICK_TOO = ("bomb: gripper", "bomb", "bomb, random")


def is_quick(name: str) -> bool:
    """A case that takes seconds: of the suite without a simulator, but not on an ACT, which is trained first."""
    return name in QUICK_TOO or (name.startswith("reach") and not name.startswith("reach_red"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="two minutes instead of a quarter of an hour")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part (may be given again)")
    parser.add_argument("--only", help="only cases whose name has this in it")
    options = parser.parse_args()
    plants.register()
    parts = options.part or PARTS
    figures: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 1), "act": act_is_trainable()}
    if not figures["act"]:
        print(
            "no ACT: LeRobot is not installed (pytest-vla install lerobot), so `reach_red` has a small policy of ours"
        )
    ok = True
    if "checks" in parts:
        named, slowest = check_all()
        figures |= {"checks": named, "checks_of": len(plants.UNCURED), "slowest_check_s": slowest}
        ok &= named == len(plants.UNCURED)
    for part, cases in (("faults", plants.FAULTS), ("pairs", plants.PAIRS), ("healthy", plants.HEALTHY)):
        if part not in parts:
            continue
        chosen = {name: case for name, case in cases.items() if not options.quick or is_quick(name)}
        chosen = {name: case for name, case in chosen.items() if (options.only or "") in name}
        found = run(part, chosen)
        figures |= found
        if part == "healthy":
            ok &= found["false_alarms"] == 0
        else:
            ok &= found[part] >= len(chosen) - 1
        ok &= found[f"{part}_most_episodes"] <= TARGET["most_episodes"]
    whole = not options.quick and not options.only and set(parts) == set(PARTS)
    if whole:
        ok &= figures["faults"] >= TARGET["faults"] and figures["pairs"] >= TARGET["pairs"]
        ok &= figures["healthy_below_10"] >= TARGET["healthy_below_10"]
    print(json.dumps({"name": "doctor", **figures, "whole": whole, "target": TARGET, "ok": bool(ok)}))


def run(part: str, cases: Mapping[str, plants.Case]) -> dict[str, Any]:
    """One examination a case, with a line each."""
    right = alarms = most = bad = 0
    for name, case in cases.items():
        made = examined(case)
        most = max(most, made.episodes)
        said = "; ".join(map(str, made.findings)) or made.verdict
        if case.cure is None:
            alarms += not made.healthy
            bad += _rate(made) < 0.1
            mark = "ok" if made.healthy else "FALSE ALARM"
        else:
            hit = any(fits(finding.config, case.cure) for finding in made.findings)
            right += hit
            mark = "ok" if hit else f"MISSED {dict(case.cure)}"
        print(f"{part} | {name} | {mark} | {made.episodes} episodes, {made.seconds:.0f} s | {said}", flush=True)
        if mark != "ok":
            print(f"    tried {[*made.tried]}", flush=True)
    figures: dict[str, Any] = {f"{part}_of": len(cases), f"{part}_most_episodes": most}
    if part == "healthy":
        return {**figures, "false_alarms": alarms, "healthy_below_10": bad}
    return {**figures, part: right}


def fits(config: Mapping[str, Any], cure: Mapping[str, Any]) -> bool:
    """Whether corrections are the expected ones; a value of None stands for any."""
    return set(config) == set(cure) and all(value in (None, config[name]) for name, value in cure.items())


def examined(case: plants.Case) -> Examination:
    suite = vla.get_suite(case.suite)
    return Doctor(source_of(case.make()), suite, case.tasks, case.partitions).examine()


def source_of(policy: Any) -> PolicySource:
    """The policy as a run asks it; a text is that of a policy that lives in its environment."""
    if isinstance(policy, str):
        return load_policy(policy)
    asked: Any = Declared(LocalPolicy(policy))
    if policy.spec.chunk > 1:
        asked = Chunked(asked, *execution(policy.spec, None, None))
    return SharedSource(text="planted", digest="planted", verified=False, spec=policy.spec, policy=asked)


def check_all() -> tuple[int, float]:
    """What part C.1 says of faults that no convention cures, on recorded observations."""
    suite = vla.get_suite("reach")
    named, slowest = 0, 0.0
    for name, (make, expected) in plants.UNCURED.items():
        source = source_of(make())
        recorded, _ = Doctor(source, suite)._record()
        start = time.perf_counter()
        made = check(fitted(asked_policy(source), suite, None), recorded, lambda rows: None)
        seconds = time.perf_counter() - start
        slowest = max(slowest, seconds)
        right = [finding.name for finding in made.findings] == [expected]
        named += right
        said = "; ".join(map(str, made.findings)) or "nothing"
        print(f"checks | {name} | {'ok' if right else 'MISSED'} | {seconds:.2f} s | {said}", flush=True)
    return named, round(slowest, 2)


def _rate(made: Examination) -> float:
    """Solved as it is, from the verdict's own numbers."""
    words = made.verdict.partition("solved ")[2].split()
    return int(words[0]) / int(words[2].rstrip(",;"))


if __name__ == "__main__":
    main()
