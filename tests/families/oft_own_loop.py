"""OpenVLA-OFT's own code in a tiny folder, asked as `run_libero_eval.py` does. Their half of the comparison.

`python oft_own_loop.py FOLDER CHECKOUT VARIANT`, with the authors' fork of transformers 4.40.1 on PYTHONPATH. It saves
a folder of that variant, and its actions to FOLDER.npz. Of their package only the files that are needed are run: what
their `__init__` imports (RLDS, draccus, diffusers) plays no part in inference with an L1 head or tokens.
"""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import torch
from oft_seen import CROPPED, IMAGES, KEY, SIZES, TOKENS, observations
from openvla_own_loop import name_own_classes, random_model, save_processor

PACKAGES = ("", ".extern", ".extern.hf", ".models", ".training", ".vla", ".vla.datasets", ".vla.datasets.rlds")
UNUSED = (
    "dlimp:DLataset",
    "diffusers.schedulers.scheduling_ddim:DDIMScheduler",
    "json_numpy:patch",
    "prismatic.overwatch:initialize_overwatch",
)


def without_the_rest(checkout):
    """Their packages as folders of files, and names for what is imported and never used."""
    for name in PACKAGES:
        package = sys.modules["prismatic" + name] = ModuleType("prismatic" + name)
        package.__path__ = [str(checkout / "prismatic" / name.replace(".", "/").lstrip("/"))]
    for text in UNUSED:
        name, _, content = text.partition(":")
        whole = ""
        for part in name.split("."):
            whole = f"{whole}.{part}".lstrip(".")
            if whole not in sys.modules:
                sys.modules[whole] = ModuleType(whole)
                sys.modules[whole].__path__ = []
        if content:
            setattr(sys.modules[name], content, lambda *_, **__: None)
    sys.path.insert(0, str(checkout))


def save(folder, checkout, variant):
    """A folder as their training leaves it, after `merge_lora_weights_and_save.py`."""
    folder.mkdir(parents=True)
    for name in ("configuration", "modeling", "processing"):
        text = (checkout / "prismatic" / "extern" / "hf" / f"{name}_prismatic.py").read_text()
        for backbone in ("vit_large_patch14_reg4_dinov2.lvd142m", "vit_so400m_patch14_siglip_224"):
            text = text.replace(backbone, "vit_tiny_patch16_224")
        (folder / f"{name}_prismatic.py").write_text(text)
    modules, _ = save_processor(folder, fused=True)
    model = random_model(modules, "dinosiglip-vit-so-224px", {})
    model.to(torch.bfloat16).save_pretrained(folder)
    name_own_classes(folder)
    action, state = SIZES[variant]
    rng = np.random.default_rng(1)
    statistics = {
        name: {"min": -rng.uniform(1, 2, size), "q01": -rng.uniform(0, 1, size), "q99": rng.uniform(0, 1, size)}
        for name, size in (("action", action), ("proprio", state))
    }
    for each in statistics.values():
        each["max"], each["mask"] = each["q99"] + 1, np.ones(len(each["min"]), bool)
    statistics["action"]["mask"][-1] = False
    plain = {name: {key: value.tolist() for key, value in each.items()} for name, each in statistics.items()}
    (folder / "dataset_statistics.json").write_text(json.dumps({KEY: plain, "others": plain}))
    if variant not in TOKENS:
        from prismatic.models.action_heads import L1RegressionActionHead
        from prismatic.models.projectors import ProprioProjector

        head = L1RegressionActionHead(input_dim=64, hidden_dim=64, action_dim=action)
        prefixed = {f"module.{name}": value for name, value in head.state_dict().items()}
        torch.save(prefixed, folder / "action_head--50000_checkpoint.pt")
        if state:
            projector = ProprioProjector(llm_dim=64, proprio_dim=state)
            torch.save(projector.state_dict(), folder / "proprio_projector--50000_checkpoint.pt")


def main(folder, checkout, variant):
    without_the_rest(checkout)
    save(folder, checkout, variant)
    from experiments.robot import openvla_utils, robot_utils

    with_head = variant not in TOKENS
    cfg = SimpleNamespace(
        model_family="openvla",
        pretrained_checkpoint=str(folder),
        use_l1_regression=with_head,
        use_diffusion=False,
        use_film=False,
        num_images_in_input=IMAGES[variant],
        use_proprio=with_head and SIZES[variant][1] > 0,
        center_crop=CROPPED[variant],
        unnorm_key=KEY,
        load_in_8bit=False,
        load_in_4bit=False,
    )
    model = robot_utils.get_model(cfg)
    processor = openvla_utils.get_processor(cfg)
    head = openvla_utils.get_action_head(cfg, model.llm_dim) if with_head else None
    state = SIZES[variant][1]
    projector = openvla_utils.get_proprio_projector(cfg, model.llm_dim, proprio_dim=state) if cfg.use_proprio else None
    own = []
    for each in observations(variant):
        names = ("full_image", "left_wrist_image", "right_wrist_image")[: IMAGES[variant]]
        theirs = dict(zip(names, each["images"].values(), strict=False))
        theirs["state"] = np.concatenate([np.ravel(value) for value in each["state"].values()])
        own.append(
            robot_utils.get_action(
                cfg,
                model,
                theirs,
                each["instruction"],
                processor=processor,
                action_head=head,
                proprio_projector=projector,
            )
        )
    import transformers

    np.savez(f"{folder}.npz", actions=np.array(own), transformers=transformers.__file__)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
