"""A small ACT for PushT with random weights, saved as LeRobot does; `python lerobot_pusht_folder.py FOLDER`."""

import sys

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors

config = ACTConfig(
    input_features={
        "observation.image": PolicyFeature(type=FeatureType.VISUAL, shape=(3, 384, 384)),
        "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(2,)),
    },
    output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(2,))},
    chunk_size=50,
    n_action_steps=50,
    dim_model=64,
    n_heads=4,
    dim_feedforward=128,
    n_encoder_layers=1,
    n_decoder_layers=1,
    use_vae=False,
    pretrained_backbone_weights=None,
    device="cpu",
)
middle = {"mean": torch.full((2,), 256.0), "std": torch.full((2,), 100.0)}  # pixels of the table
picture = {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
stats = {"observation.image": picture, "observation.state": middle, "action": middle}

torch.manual_seed(0)
for part in (ACTPolicy(config), *make_pre_post_processors(config, dataset_stats=stats)):
    part.save_pretrained(sys.argv[1])
