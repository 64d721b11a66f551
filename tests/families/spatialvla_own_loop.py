"""SpatialVLA's own code (the checkout in sys.argv[2]) in a tiny folder, asked as its README does and by our guest.

`python spatialvla_own_loop.py FOLDER CHECKOUT GUEST`, beside transformers 4.47.0. Prints one JSON line.
"""

import importlib
import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np
import torch

COUNT = 20
KEY = "bridge_orig/1.0.0"
WORDS = ("put", "the", "stone", "on", "table", "what", "action")
BINS = {
    "translation": {"theta_bins": 4, "phi_bins": 8, "r_bins": 4},
    "rotation": {"roll_bins": 4, "pitch_bins": 4, "yaw_bins": 4},
    "gripper": 2,
}
TOKENS = 4 * 8 * 4 + 4 * 4 * 4 + 2


def tokenizer():
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import GemmaTokenizerFast

    words = ["<pad>", "<eos>", "<bos>", "<unk>", "\n", *WORDS]
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = Split(" ", "removed")
    return GemmaTokenizerFast(tokenizer_object=made, add_bos_token=False, add_eos_token=False)


def processor(checkout):
    """As the authors' training makes it: bins of the data's own distribution, pixels left in 0..1."""
    from model.action_tokenizer import SpatialActionTokenizer
    from model.processing_spatialvla import SpatialVLAProcessor
    from transformers import SiglipImageProcessor

    images = SiglipImageProcessor(size={"height": 224, "width": 224}, do_normalize=False)
    images.image_seq_length = 256
    scripts = checkout / "scripts"
    spread = json.loads((scripts / "gs_bridge.json").read_text())
    bins = SpatialActionTokenizer(tokenizer(), num_bins=BINS, gs_params=spread).bin_policy
    low, high = [-1.0, -2.0, -3.0, -0.1, -0.2, -0.3, 0.0], [1.0, 2.0, 3.5, 0.1, 0.2, 0.3, 1.0]
    numbers = {"action": {"q01": low, "q99": high, "mask": [True] * 6 + [False]}}
    return SpatialVLAProcessor(
        image_processor=images,
        tokenizer=tokenizer(),
        statistics={KEY: numbers, "others": numbers},
        bin_policy=bins,
        intrinsic_config=json.loads((scripts / "intrinsics.json").read_text()),
        action_config={"num_bins": BINS, "use_spherical": True},
        action_chunk_size=4,
    )


def model_for(made):
    from model.configuration_spatialvla import SpatialVLAConfig
    from model.modeling_spatialvla import SpatialVLAForConditionalGeneration
    from transformers import BeitConfig, ZoeDepthConfig

    layers = {"num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
    backbone = BeitConfig(
        image_size=384, **layers, out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False
    )
    zoe = ZoeDepthConfig(
        backbone_config=backbone,
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        bottleneck_features=8,
        num_relative_features=8,
    )
    words, first = len(made.tokenizer), made.action_tokenizer.action_token_begin_idx
    config = SpatialVLAConfig(
        vision_config={"image_size": 224, "patch_size": 14, **layers, "vision_use_head": False},
        text_config={
            "vocab_size": words,
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 32,
            "query_pre_attn_scalar": 32,
            "sliding_window": 512,
            "tie_word_embeddings": False,
        },
        vision_zoe_config=zoe.to_dict(),
        projection_dim=64,
        hidden_size=64,
        vocab_size=words,
        image_token_index=made.image_token_id,
        action_token_begin_idx=first,
        spatial_token_num=TOKENS,
        use_spatial_token=True,
        ego3d_patch_reso=2,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    model = SpatialVLAForConditionalGeneration(config).eval()
    for name, value in model.named_parameters():
        if value.dim() == 2 and "vision_zoe" not in name:
            torch.nn.init.normal_(value, std=0.3)
    with torch.no_grad():  # only the tokens of actions are ever likely
        head = model.language_model.lm_head.weight
        head[:first] = 0.0
        head[first + TOKENS :] = 0.0
    return model.to(torch.bfloat16)


def save(folder, checkout):
    sys.path.insert(0, str(checkout))
    made = processor(checkout)
    model = model_for(made)
    for each in (type(model.config), type(model), type(made)):
        each.register_for_auto_class()
    model.save_pretrained(folder)
    made.save_pretrained(folder)


def main(folder, checkout, guest_file):
    from PIL import Image
    from transformers import AutoModel, AutoProcessor

    save(folder, checkout)
    made = AutoProcessor.from_pretrained(folder, trust_remote_code=True)
    model = AutoModel.from_pretrained(folder, trust_remote_code=True, torch_dtype=torch.bfloat16).eval()
    home = Path(guest_file).parent
    sys.path[:0] = [str(home), str(home.parent / "shared")]
    policy = importlib.import_module("guest").load(str(folder), KEY)
    rng = np.random.default_rng(0)
    seen = [
        {"images": {"front": rng.integers(0, 256, (48, 64, 3), np.uint8)}, "instruction": text}
        for text in ("Put the stone", "put the stone on the table") * (COUNT // 2)
    ]
    own = []
    for each in seen:
        image = Image.fromarray(each["images"]["front"]).convert("RGB")
        text = each["instruction"].lower()
        inputs = made(images=[image], text=text, unnorm_key=KEY, return_tensors="pt")
        tokens = model.predict_action(inputs)
        own.append(made.decode_actions(tokens, unnorm_key=KEY)["actions"])
    alone = [policy.act([each], [None])[0] for each in seen]
    together = policy.act(seen, [None] * len(seen))
    found = {
        **{name: importlib.metadata.version(name) for name in ("transformers", "torch")},
        "compared": len(own),
        "differ": sum(not np.array_equal(a, b) for a, b in zip(own, alone, strict=True)),
        "differ_together": sum(not np.array_equal(a, b) for a, b in zip(own, together, strict=True)),
        "different": len({a.tobytes() for a in own}),
        "shape": list(own[0].shape),
        "spec": policy.spec,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
