"""The same policy in a new process: `python -m pytest_vla.doctor.fresh`, asked over pipes by its parent."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

LIMIT_S = 300.0


def fresh_answers(options: Mapping[str, Any]) -> Callable[[list[Any]], list[Any] | None]:
    """Has rows answered by a policy that was loaded for nothing else; None where its process fails to.

    Both ends are ours: what is pickled here is unpickled by the process that we started.
    """

    def ask(rows: list[Any]) -> list[Any] | None:
        command = [sys.executable, "-m", "pytest_vla.doctor.fresh"]
        try:
            done = subprocess.run(
                command, input=pickle.dumps((sys.path, options, rows)), capture_output=True, timeout=LIMIT_S
            )
            answers: list[Any] = pickle.loads(done.stdout)
        except (subprocess.TimeoutExpired, pickle.UnpicklingError, EOFError):
            return None
        return answers

    return ask


def main() -> None:
    path, options, rows = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever the policy prints is not the answer
    from pytest_vla.doctor.checks import _ask
    from pytest_vla.doctor.examine import asked_policy
    from pytest_vla.inference.session import local_source
    from pytest_vla.options import InferenceOptions
    from pytest_vla.policies.trust import trust

    trust(options["trust"])
    source = local_source(InferenceOptions(**options["inference"]))
    policy = asked_policy(source)
    output.write(pickle.dumps([_ask(policy, [row])[0] for row in rows]))


if __name__ == "__main__":
    main()
