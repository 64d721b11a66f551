"""OpenVLA's own code (the checkout in sys.argv[2]) in a tiny folder, asked by its `predict_action` and by our guest.

`python openvla_own_loop.py FOLDER CHECKOUT GUEST`, beside transformers 4.40.1 and timm. Prints one JSON line.
"""

import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np
import torch

COUNT = 20
PROMPT = "In: What action should the robot take to {instruction}?\nOut:"
WORDS = ("in:", "what", "action", "should", "the", "robot", "take", "to", "put", "stone", "out:", "?", "on", "table")


def code_of(checkout):
    """The three files that its folders carry, with a vision backbone small enough for a test."""
    found = {}
    for name in ("configuration", "modeling", "processing"):
        text = (checkout / "prismatic" / "extern" / "hf" / f"{name}_prismatic.py").read_text()
        found[f"{name}_prismatic.py"] = text.replace("vit_so400m_patch14_siglip_224", "vit_tiny_patch16_224")
    return found


def tiny_llama():
    sizes = {"vocab_size": 32064, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    return {**sizes, "num_attention_heads": 4, "num_key_value_heads": 4, "pad_token_id": 32000}


def save(folder, checkout):
    folder.mkdir(parents=True)
    for name, text in code_of(checkout).items():
        (folder / name).write_text(text)
    modules, processor = save_processor(folder)
    numbers = {"q01": [-1.0, -2.0, 0.0], "q99": [1.0, 2.0, 1.0], "mask": [True, True, False]}
    statistics = {"ours": {"action": numbers}, "others": {"action": {**numbers, "q99": [9.0, 9.0, 9.0]}}}
    model = random_model(modules, "siglip-vit-so400m", statistics)
    model.save_pretrained(folder)
    name_own_classes(folder)
    return model, processor


def random_model(modules, backbone, statistics):
    """A tiny one, to which only the tokens of actions are ever likely."""
    config = modules["configuration"].OpenVLAConfig(
        vision_backbone_id=backbone,
        llm_backbone_id="llama2-7b-pure",
        text_config=tiny_llama(),
        norm_stats=statistics,
        image_resize_strategy="resize-naive",
    )
    torch.manual_seed(0)
    model = modules["modeling"].OpenVLAForActionPrediction(config).eval()
    for value in model.language_model.parameters():
        if value.dim() == 2:
            torch.nn.init.normal_(value, std=0.2)
    with torch.no_grad():
        model.language_model.lm_head.weight[: 32000 - 256] = 0.0
        model.language_model.lm_head.weight[32000:] = 0.0
    return model


def save_processor(folder, fused=False):
    """The processor of a folder that has the code already, and that code as modules."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    sys.path.insert(0, str(folder.parent))
    (folder / "__init__.py").write_text("")
    names = ("configuration", "modeling", "processing")
    modules = {name: importlib.import_module(f"{folder.name}.{name}_prismatic") for name in names}
    words = ["<pad>", "<s>", "</s>", "<unk>", *WORDS]
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.normalizer, made.pre_tokenizer = Lowercase(), WhitespaceSplit()
    special = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    names = ["input_ids", "attention_mask"]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=names, **special)
    count = 2 if fused else 1
    images = modules["processing"].PrismaticImageProcessor(
        use_fused_vision_backbone=fused,
        image_resize_strategy="resize-naive",
        input_sizes=[(3, 224, 224)] * count,
        interpolations=["bicubic"] * count,
        means=[(0.5, 0.5, 0.5)] * count,
        stds=[(0.5, 0.5, 0.5)] * count,
    )
    processor = modules["processing"].PrismaticProcessor(images, tokenizer)
    processor.save_pretrained(folder)
    return modules, processor


def name_own_classes(folder):
    """Where a folder's classes are, as in the folders on the hub."""
    own = {"AutoConfig": "configuration_prismatic.OpenVLAConfig"}
    own["AutoModelForVision2Seq"] = "modeling_prismatic.OpenVLAForActionPrediction"
    for name, classes in (
        ("config.json", own),
        ("preprocessor_config.json", {"AutoImageProcessor": "processing_prismatic.PrismaticImageProcessor"}),
        ("processor_config.json", {}),
    ):
        file = folder / name
        data = json.loads(file.read_text()) if file.exists() else {"processor_class": "PrismaticProcessor"}
        classes = {**classes, "AutoProcessor": "processing_prismatic.PrismaticProcessor"}
        file.write_text(json.dumps({**data, "auto_map": classes}))


def main(folder, checkout, guest_file):
    from PIL import Image

    model, processor = save(folder, checkout)
    home = Path(guest_file).parent
    sys.path[:0] = [str(home), str(home.parent / "shared")]
    guest = importlib.import_module("guest")
    policy = guest.load(str(folder), "ours")
    rng = np.random.default_rng(0)
    seen = [
        {"images": {"front": rng.integers(0, 256, (64, 64, 3), np.uint8)}, "instruction": text}
        for text in ("Put the stone.", "Put the stone on the table.") * (COUNT // 2)
    ]
    own = []
    for each in seen:
        text = PROMPT.format(instruction=each["instruction"].lower().rstrip("."))
        inputs = processor(text, Image.fromarray(each["images"]["front"]))
        own.append(model.predict_action(**inputs, unnorm_key="ours", do_sample=False))
    alone = [policy.act([each], [None])[0] for each in seen]
    together = policy.act(seen, [None] * len(seen))
    versions = {name: importlib.metadata.version(name) for name in ("transformers", "timm", "torch")}
    found = {
        **versions,
        "compared": len(own),
        "differ": sum(not np.array_equal(a, b) for a, b in zip(own, alone, strict=True)),
        "differ_together": sum(not np.array_equal(a, b) for a, b in zip(own, together, strict=True)),
        "different": len({a.tobytes() for a in own}),
        "spec": policy.spec,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
