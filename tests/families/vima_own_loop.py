"""The original VIMA's own code on the observations of a file; runs beside its packages, with its checkout on the path.

`python vima_own_loop.py FOLDER CHECKOUT`: the first time it makes `2M.ckpt` with random weights, a T5 of two layers (no
weights can be fetched), then plays `observations.npz` by `scripts/example.py`'s functions and writes `actions.npz`.
"""

import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

SIZES = {"embed_dim": 256, "xf_n_layers": 1, "sattn_n_heads": 8, "xattn_n_heads": 8}


def patched(folder, checkout):
    """T5 by its configuration, the tokenizer by its file, and no simulator."""
    sys.path.insert(0, str(checkout))
    bench = types.ModuleType("vima_bench")
    bench.__all__ = []
    gym, wrappers = types.ModuleType("gym"), types.ModuleType("gym.wrappers")
    gym.Wrapper = wrappers.TimeLimit = type("Wrapper", (), {})
    sys.modules.update({"vima_bench": bench, "gym": gym, "gym.wrappers": wrappers})
    words = len(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"])
    config = transformers.T5Config(vocab_size=words, d_model=768, d_ff=256, num_layers=2, num_heads=12)
    Tokenizer.from_pretrained = staticmethod(lambda name: Tokenizer.from_file(str(folder / "tokenizer.json")))
    transformers.AutoModel.from_pretrained = classmethod(lambda cls, name: transformers.T5Model(config))
    encoder = importlib.import_module("vima.nn.prompt_encoder.prompt_encoder")
    encoder.T5EncoderModel.from_pretrained = classmethod(lambda cls, name: cls(config))
    np.bool = bool


def checkpoint(folder):
    import vima

    torch.manual_seed(0)
    policy = vima.VIMAPolicy(**SIZES)
    for name, value in policy.named_parameters():
        if "_decoders" in name and value.dim() == 2:
            torch.nn.init.orthogonal_(value, gain=3.0)  # as it begins, it hardly tells observations apart
    torch.save(
        {"cfg": SIZES, "state_dict": {f"policy.{k}": v for k, v in policy.state_dict().items()}}, folder / "2M.ckpt"
    )


def padded(rows):
    """As their loop has it: zeros up to the most objects of any step."""
    most = max(len(row) for row in rows)
    return torch.stack([torch.cat([row, row.new_zeros(most - len(row), *row.shape[1:])]) for row in rows])


def play(folder, checkout):
    sys.path.insert(0, str(checkout / "scripts"))
    import example
    from vima import create_policy_from_ckpt
    from vima.utils import add_batch_dim, any_stack

    policy = create_policy_from_ckpt(folder / "2M.ckpt", "cpu")
    data = np.load(folder / "observations.npz", allow_pickle=True)
    actions = []
    for episode in data["episodes"]:
        assets = {}
        for name, asset in episode["assets"].items():
            shown = [{"obj_id": number} for number in asset["ids"]]
            info = shown if asset["kind"] == "scene" else shown[0]
            rgb = {view: picture.transpose(2, 0, 1) for view, picture in asset["rgb"].items()}
            segm = {**asset["segmentation"], "obj_info": info}
            assets[name] = {"rgb": rgb, "segm": segm, "placeholder_type": asset["kind"]}
        kinds, words, images = example.prepare_prompt(
            prompt=episode["text"], prompt_assets=assets, views=["front", "top"]
        )
        with torch.no_grad():
            prompt, prompt_mask = policy.forward_prompt_assembly((kinds, words, images))
            seen, masks, done = [], [], []
            for step in episode["steps"]:
                rgb = {view: picture.transpose(2, 0, 1) for view, picture in step["rgb"].items()}
                raw = add_batch_dim({"rgb": rgb, "segm": dict(step["segmentation"]), "ee": np.asarray(step["ee"])})
                meta = {"n_objects": len(step["ids"]), "obj_id_to_info": {number: {} for number in step["ids"]}}
                tokens, mask = policy.forward_obs_token(example.prepare_obs(obs=raw, rgb_dict=None, meta=meta))
                seen.append(tokens.squeeze(0)[0])
                masks.append(mask.squeeze(0)[0])
                out = policy.forward(
                    obs_token=any_stack([padded(seen)], dim=0).transpose(0, 1),
                    action_token=any_stack([any_stack(done, dim=0)], dim=0).transpose(0, 1) if done else None,
                    prompt_token=prompt,
                    prompt_token_mask=prompt_mask,
                    obs_mask=any_stack([padded(masks)], dim=0).transpose(0, 1),
                )
                bins = {k: v.mode() for k, v in policy.forward_action_decoder(out[-1].unsqueeze(0)).items()}
                done.append(policy.forward_action_token(bins).squeeze(0)[0])
                actions.append(np.concatenate([bins[name][0, 0].numpy() for name in sorted(bins)]))
    np.savez(folder / "actions.npz", bins=np.stack(actions))


if __name__ == "__main__":
    home, code = Path(sys.argv[1]), Path(sys.argv[2])
    patched(home, code)
    if not (home / "2M.ckpt").exists():
        checkpoint(home)
    play(home, code)
