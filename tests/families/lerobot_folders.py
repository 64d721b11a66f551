"""Tiny LeRobot policies with random weights, saved as their authors do; runs beside LeRobot's packages.

Sizes are patched and tokenizers made here where a family only knows its own. `python lerobot_folders.py KIND FOLDER`.
"""

import sys
from pathlib import Path

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.factory import get_policy_class, make_pre_post_processors

SIDE = 64
WORDS = ("go", "put", "the", "stone", "on", "table", "<image>", "<fake_token_around_image>", "<global-img>")


def features(cameras=("front",), state=4, action=4):
    pictures = {f"observation.images.{name}": picture() for name in cameras}
    return {
        "input_features": {**pictures, "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(state,))},
        "output_features": {"action": PolicyFeature(type=FeatureType.ACTION, shape=(action,))},
        "device": "cpu",
    }


def picture():
    return PolicyFeature(type=FeatureType.VISUAL, shape=(3, SIDE, SIDE))


def statistics(kind, given):
    """Normalisation that matters."""
    if kind == "act_on_pusht":
        table = {"mean": torch.full((2,), 256.0), "std": torch.full((2,), 100.0)}
        colours = {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
        return {"observation.image": colours, "observation.state": table, "action": table}
    found = {}
    for name, feature in {**given["input_features"], **given["output_features"]}.items():
        size = feature.shape if len(feature.shape) == 1 else (3, 1, 1)
        count = size[0]
        steps = torch.arange(count, dtype=torch.float32).reshape(size)
        found[name] = {"mean": steps / 10, "std": 0.2 + steps / 5, "min": -1 - steps, "max": 1 + steps}
        found[name] |= {"q01": -0.9 - steps, "q99": 0.9 + steps}
    return found


def tokenizer(folder):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<bos>", "<eos>", "<unk>", *WORDS]
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = Whitespace()
    special = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
    own = {
        "image_token": "<image>",
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<eos>",
    }
    made = PreTrainedTokenizerFast(tokenizer_object=made, **special, extra_special_tokens=own)
    made.save_pretrained(folder)
    return made


def act(given=None, **more):
    from lerobot.policies.act.configuration_act import ACTConfig

    small = {"dim_model": 64, "n_heads": 4, "dim_feedforward": 128, "n_encoder_layers": 1, "n_decoder_layers": 1}
    asked = {"chunk_size": 10, "n_action_steps": 5, "use_vae": False, "pretrained_backbone_weights": None}
    return ACTConfig(**(given or features()), **{**small, **asked, **more})


def act_on_pusht():
    """As `lerobot-eval` asks it on PushT: its names, its sizes, actions in pixels of the table."""
    picture = PolicyFeature(type=FeatureType.VISUAL, shape=(3, 384, 384))
    given = features((), state=2, action=2)
    given["input_features"] = {"observation.image": picture, **given["input_features"]}
    return act(given, chunk_size=50, n_action_steps=50)


def diffusion(**more):
    from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig

    small = {
        "crop_shape": (60, 60),
        "down_dims": (32, 64),
        "num_train_timesteps": 5,
        "pretrained_backbone_weights": None,
    }
    return DiffusionConfig(**features(), **{**small, "horizon": 16, "n_action_steps": 8, **more})


def vqbet():
    from lerobot.policies.vqbet.configuration_vqbet import VQBeTConfig

    gpt = {"gpt_n_layer": 2, "gpt_n_head": 2, "gpt_hidden_dim": 64, "gpt_input_dim": 64, "gpt_output_dim": 64}
    codes = {"vqvae_n_embed": 8, "vqvae_embedding_dim": 32, "vqvae_enc_hidden_dim": 32}
    steps = {"n_action_pred_token": 2, "action_chunk_size": 3, "n_obs_steps": 3}
    return VQBeTConfig(**features(), crop_shape=(60, 60), pretrained_backbone_weights=None, **gpt, **codes, **steps)


def smolvla(home, cameras=("front",), state=4, action=4):
    """Beside it a SmolVLM of two layers, which it knows by its folder."""
    from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
    from transformers import SmolVLMConfig, SmolVLMImageProcessor, SmolVLMProcessor, SmolVLMVideoProcessor

    vlm = home / "vlm"
    words = tokenizer(vlm)
    text = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "vocab_size": len(words),
        "attention_bias": False,
    }
    vision = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision |= {"image_size": SIDE, "patch_size": 16}
    image_token = words.convert_tokens_to_ids("<image>")
    SmolVLMConfig(text_config=text, vision_config=vision, image_token_id=image_token, scale_factor=2).save_pretrained(
        vlm
    )
    size = {"longest_edge": SIDE}
    images = SmolVLMImageProcessor(size=size, max_image_size=size)
    videos = SmolVLMVideoProcessor(size=size, max_image_size=size, num_frames=2, fps=1)
    videos.video_sampling = {"fps": 1, "max_frames": 2, "video_size": size}
    SmolVLMProcessor(images, words, videos, image_seq_len=4).save_pretrained(vlm)
    small = {"chunk_size": 10, "n_action_steps": 5, "num_steps": 3, "num_vlm_layers": 2, "num_expert_layers": 2}
    asked = {"vlm_model_name": str(vlm), "resize_imgs_with_padding": (SIDE, SIDE), "tokenizer_max_length": 12}
    return SmolVLAConfig(**features(cameras, state, action), **small, **asked)


def pi(home, name):
    """PaliGemma and the expert of two narrow layers each."""
    import importlib

    import transformers
    from transformers.models.siglip import SiglipVisionConfig

    with_tokenizer(home)
    module = importlib.import_module(f"lerobot.policies.{name}.modeling_{name}")
    config = importlib.import_module(f"lerobot.policies.{name}.configuration_{name}")
    width = 64

    def narrow(self, key, value):
        object.__setattr__(self, key, {"projection_dim": width, "intermediate_size": 128}.get(key, value))

    def paligemma():
        made = transformers.PaliGemmaConfig(projection_dim=width)
        made.vision_config = SiglipVisionConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, patch_size=14
        )
        return made

    SiglipVisionConfig.__setattr__ = narrow  # LeRobot writes these sizes down itself
    gemma = module.get_gemma_config("gemma_300m")
    sizes = {
        "width": width,
        "depth": 2,
        "mlp_dim": 128,
        "num_heads": 8,
        "num_kv_heads": 1,
        "head_dim": 16,
    }  # eight heads: a number in its training loss
    module.get_gemma_config = lambda variant: type(gemma)(**sizes)
    module.CONFIG_MAPPING = {"paligemma": paligemma, "gemma": module.CONFIG_MAPPING["gemma"]}
    kind = {"pi0": "PI0Config", "pi05": "PI05Config"}[name]
    steps = {"chunk_size": 10, "n_action_steps": 5, "num_inference_steps": 3, "tokenizer_max_length": 24}
    return getattr(config, kind)(**features(), **steps, dtype="float32", compile_model=False)


def with_tokenizer(home):
    """A tokenizer that families have by a name of the hub, made here."""
    from transformers import AutoTokenizer

    tokenizer(home / "words")
    original = AutoTokenizer.from_pretrained

    def local(name, *rest, **options):
        return original(home / "words" if str(name).startswith("google/") else name, *rest, **options)

    AutoTokenizer.from_pretrained = local


KINDS = {
    "act": lambda home: act(),
    "act_on_pusht": lambda home: act_on_pusht(),
    "act_ensemble": lambda home: act(n_action_steps=1, temporal_ensemble_coeff=0.01),
    "diffusion": lambda home: diffusion(),
    "diffusion_ddim": lambda home: diffusion(
        noise_scheduler_type="DDIM", num_train_timesteps=10, num_inference_steps=4
    ),
    "vqbet": lambda home: vqbet(),
    "smolvla": smolvla,
    "pi0": lambda home: pi(home, "pi0"),
    "pi05": lambda home: pi(home, "pi05"),
    # folders as a lab has them: cameras that only count, the state and the actions of a suite
    "lab_bomb": lambda home: smolvla(home, ("image", "image2"), 4, 4),
    "lab_libero": lambda home: smolvla(home, ("image", "image2"), 8, 7),
}


def save(kind, folder):
    folder.mkdir(parents=True, exist_ok=True)
    home = folder.parent / f"{folder.name}_parts"
    torch.manual_seed(0)
    config = KINDS[kind](home)
    given = {"input_features": config.input_features, "output_features": config.output_features}
    model = get_policy_class(config.type)(config)
    for part in (model, *make_pre_post_processors(config, dataset_stats=statistics(kind, given))):
        part.save_pretrained(folder)


if __name__ == "__main__":
    save(sys.argv[1], Path(sys.argv[2]))
