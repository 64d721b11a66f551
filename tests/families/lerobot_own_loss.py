"""How likely an answer is by the guest, and by LeRobot's own training loss; runs beside LeRobot's packages.

`python lerobot_own_loss.py KIND FOLDER GUEST` prints one JSON line: both for an answer as it was seen, with another
picture, and after the plan was made, and how far rows in one call are from rows alone.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import lerobot_folders
import numpy as np
import torch

SEED = 7


def observation(seed):
    rng, side = np.random.default_rng(seed), lerobot_folders.SIDE
    image, state = rng.integers(0, 256, (side, side, 3), np.uint8), rng.normal(size=4).astype(np.float32)
    return {"images": {"front": image}, "state": {"ee": state}, "instruction": "put the stone"}


def flow_loss(guest, policy, seen, action):
    """LeRobot's `forward` on a batch of one, as in training; its draws are those of the episode."""
    total, model = 0.0, policy.model.model
    for draw in range(guest.LOSS_DRAWS):
        generator = torch.Generator().manual_seed(guest.noise_seed(SEED, 0, draw))
        time = torch.tensor([(draw + 0.5) / guest.LOSS_DRAWS])
        model.sample_noise = lambda shape, device, generator=generator: torch.randn(shape, generator=generator)
        model.sample_time = lambda rows, device, time=time: time
        batch = policy.before({**policy._batch([seen]), "action": torch.from_numpy(action)[None]})
        total += float(policy.model.forward(batch)[0])
    del model.sample_time
    model.sample_noise = policy._noise
    return -0.5 * action.size * total / guest.LOSS_DRAWS


def diffusion_loss(guest, policy, seen, plan):
    """LeRobot's `compute_loss` on a batch of one, where what is not acted on counts as padding."""
    config, total = policy.model.config, 0.0
    steps, start = config.num_train_timesteps, config.n_obs_steps - 1
    padded = torch.ones(1, config.horizon, dtype=torch.bool)
    padded[:, start : start + config.n_action_steps] = False
    config.do_mask_loss_for_padding = True
    batch = policy._stacked_images(policy.before(policy._batch([seen])))
    batch = {name: torch.stack([batch[name]] * config.n_obs_steps, 1) for name in (guest.STATE, guest.IMAGES)}
    batch |= {"action": plan[None], "action_is_pad": padded}
    randn, randint = torch.randn, torch.randint
    for draw in range(guest.LOSS_DRAWS):
        generator = torch.Generator().manual_seed(guest.noise_seed(SEED, 0, draw))
        noise = randn(plan.shape, generator=generator)[None]
        torch.randn = lambda *shape, noise=noise, **options: noise
        torch.randint = lambda draw=draw, **options: torch.tensor([int((draw + 0.5) * steps / guest.LOSS_DRAWS)])
        try:
            total += float(policy.model.diffusion.compute_loss(batch))
        finally:
            torch.randn, torch.randint = randn, randint
    return -0.5 * config.n_action_steps * plan.shape[1] * total / guest.LOSS_DRAWS


@torch.no_grad()
def main(kind, folder, path):
    lerobot_folders.save(kind, folder)
    spec = importlib.util.spec_from_file_location("guest", path)
    guest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guest)
    policy = guest.load(str(folder))
    begin = lambda: policy.reset(SimpleNamespace(seed=SEED))  # noqa: E731
    seen, other, after = observation(0), observation(1), begin()
    (action,) = policy.act([seen], [after])
    ours = policy.log_prob([seen, other], [begin(), begin()], [action, action])
    alone = [policy.log_prob([each], [begin()], [action])[0] for each in (seen, other)]
    if kind.startswith("diffusion"):
        (plan,) = policy._plans.values()
        theirs = [diffusion_loss(guest, policy, each, plan) for each in (seen, other)]
        planned = policy.log_prob([other], [after], [action + 1])[0]
    else:
        theirs, planned = [flow_loss(guest, policy, each, action) for each in (seen, other)], 0.0
    apart = max(abs(one - two) for one, two in zip(ours, alone, strict=True))
    again = policy.act([seen], [begin()])[0]
    same = bool(np.array_equal(again, action))
    print(json.dumps({"ours": ours, "theirs": theirs, "planned": planned, "batched": apart, "acts_as_before": same}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
