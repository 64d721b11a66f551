"""LeRobot's own inference loop and ours on the same folder and observations; runs beside LeRobot's packages.

`python lerobot_own_loop.py KIND FOLDER GUEST` prints one JSON line: actions compared, and how many differ in any bit.
"""

import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import lerobot_folders
import numpy as np
import torch
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from lerobot.policies.utils import prepare_observation_for_inference

STEPS, SEED = 20, 7


def observations():
    rng = np.random.default_rng(0)
    side = lerobot_folders.SIDE
    return [
        (rng.integers(0, 256, (side, side, 3), np.uint8), rng.normal(size=4).astype(np.float32)) for _ in range(STEPS)
    ]


def ours(guest, folder, seen, rows=1):
    """The first of `rows` equal episodes, its chunks executed to their horizon."""
    policy = guest.load(str(folder))
    states = [policy.reset(SimpleNamespace(seed=SEED + row)) for row in range(rows)]
    horizon, given = policy.spec["horizon"] or 1, []
    for step, (image, state) in enumerate(seen):
        observation = {"images": {"front": image}, "state": {"ee": state}, "instruction": "put the stone"}
        if step % horizon == 0:
            chunk = policy.act([observation] * rows, states)[0]
            chunk = chunk if policy.spec["chunk"] > 1 else chunk[None]
        given.append(chunk[step % horizon])
    return np.stack(given), policy


def theirs(guest, folder, seen):
    """select_action behind their processors; where it draws, from a generator seeded as ours is."""
    kind = json.loads((folder / "config.json").read_text())["type"]
    policy = get_policy_class(kind).from_pretrained(folder).eval()
    before, after = make_pre_post_processors(policy.config, str(folder))
    policy.reset()
    given, calls = [], 0
    for image, state in seen:
        raw = {"observation.images.front": image.copy(), "observation.state": state.copy()}
        batch = before(prepare_observation_for_inference(raw, torch.device("cpu"), "put the stone"))
        queue = getattr(policy, "_action_queue", None)
        queue = getattr(policy, "_queues", {}).get("action", ()) if queue is None else queue
        if len(queue) == 0:
            torch.manual_seed(guest.noise_seed(SEED, calls))
            calls += 1
        given.append(after(policy.select_action(batch))[0].detach().numpy())
    return np.stack(given)


def main(kind, folder, guest_file):
    spec = importlib.util.spec_from_file_location("guest", guest_file)
    guest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guest)
    lerobot_folders.save(kind, folder)
    seen = observations()
    mine, policy = ours(guest, folder, seen)
    own = theirs(guest, folder, seen)
    batched, _ = ours(guest, folder, seen, rows=3)
    found = {
        "kind": kind,
        "lerobot": importlib.metadata.version("lerobot"),
        "torch": torch.__version__,
        "compared": len(own),
        "differ": int((mine != own).any(axis=1).sum()),
        "spread": float(own.std()),
        "batched": float(np.abs(batched - mine).max()),
        "spec": policy.spec,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
