"""Trains a small ACT of LeRobot's own and saves it as its authors do; runs beside LeRobot's packages.

`python reach_act_training.py DEMONSTRATIONS.npz FOLDER STEPS`: arrays by the names of features, pictures as bytes, and
for each moment the actions that followed. Minutes on one core.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors
from torchvision.ops import FrozenBatchNorm2d

BATCH, RATE, SEED = 32, 2e-4, 0
ACTED_ON = 2  # of a chunk
LEAST_SPREAD = 1e-4
SMALL = {"dim_model": 128, "n_heads": 4, "dim_feedforward": 256, "n_encoder_layers": 1, "n_decoder_layers": 1}


def main(shown, folder, steps):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    data = {name: torch.from_numpy(array) for name, array in np.load(shown).items()}
    policy = ACTPolicy(config_of(data))
    before, after = make_pre_post_processors(policy.config, dataset_stats=statistics(data))
    if steps:
        train(policy.train(), before, data, steps)
    for part in (policy.eval(), before, after):
        part.save_pretrained(folder)


def config_of(data):
    given = {name: feature_of(name, array) for name, array in data.items()}
    action = given.pop("action")
    return ACTConfig(
        input_features=given,
        output_features={"action": action},
        chunk_size=data["action"].shape[1],
        n_action_steps=ACTED_ON,
        use_vae=False,
        dropout=0.0,
        pretrained_backbone_weights=None,
        device="cpu",
        **SMALL,
    )


def feature_of(name, array):
    if is_picture(array):
        return PolicyFeature(FeatureType.VISUAL, (3, *array.shape[1:3]))
    return PolicyFeature(FeatureType.ACTION if name == "action" else FeatureType.STATE, array.shape[-1:])


def is_picture(array):
    return array.dtype == torch.uint8


def statistics(data):
    """Mean and deviation of every feature, of pictures by channel; of what never changes, as the opening seen, 1."""
    found = {}
    for name, array in data.items():
        rows = array.reshape(-1, array.shape[-1])
        rows = rows.double() / 255 if is_picture(array) else rows.double()
        size = (-1, 1, 1) if is_picture(array) else (-1,)
        spread = rows.std(0)
        spread[spread < LEAST_SPREAD] = 1.0
        found[name] = {"mean": rows.mean(0).float().reshape(size), "std": spread.float().reshape(size)}
    return found


def train(policy, before, data, steps):
    optimiser = torch.optim.AdamW(policy.parameters(), RATE, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps + 1, pct_start=0.1)
    settle(policy, batch_of(before, data, 256))
    losses = []
    for step in range(1, steps + 1):
        with torch.autocast("cpu", torch.bfloat16):
            loss, _ = policy.forward(batch_of(before, data, BATCH))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if step % 100 == 0:
            print(f"step {step} of {steps}: loss {np.mean(losses[-100:]):.3f}", flush=True)


def batch_of(before, data, size):
    rows = torch.randint(len(data["action"]), (size,))
    batch = {}
    for name, array in data.items():
        some = array[rows]
        batch[name] = some.permute(0, 3, 1, 2).float() / 255 if is_picture(some) else some
    return {**before(batch), "action_is_pad": torch.zeros(batch["action"].shape[:2], dtype=torch.bool)}


@torch.no_grad()
def settle(policy, batch):
    """The backbone's frozen statistics, which pretrained weights would bring, are those of the first batch."""

    def measure(layer, inputs):
        layer.running_mean.copy_(inputs[0].mean((0, 2, 3)))
        layer.running_var.copy_(inputs[0].var((0, 2, 3)))

    layers = [layer for layer in policy.modules() if isinstance(layer, FrozenBatchNorm2d)]
    hooks = [layer.register_forward_pre_hook(measure) for layer in layers]
    policy.model.backbone(torch.cat([batch[name] for name in policy.config.image_features]))
    for hook in hooks:
        hook.remove()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
