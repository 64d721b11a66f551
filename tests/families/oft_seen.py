"""What both halves of the comparison with OpenVLA-OFT know: the variants of folders, and what their policies see."""

import numpy as np

COUNT = 20
KEY = "ours_no_noops"
#: Numbers of an action and of the state; the names are those that OFT's code finds a robot's constants by.
SIZES = {"libero": (7, 8), "libero_one_view": (7, 0), "libero_tokens": (7, 8), "aloha": (14, 14), "bridge": (7, 7)}
IMAGES = {"libero": 2, "libero_one_view": 1, "libero_tokens": 1, "aloha": 3, "bridge": 1}
CROPPED = {"libero": True, "libero_one_view": False, "libero_tokens": True, "aloha": True, "bridge": True}
TOKENS = ("libero_tokens",)


def observations(variant):
    rng = np.random.default_rng(0)
    _, state = SIZES[variant]
    return [
        {
            "images": {
                name: rng.integers(0, 256, (side, side, 3), np.uint8)
                for name, side in zip(("agent", "left", "right"), (256, 128, 224), strict=True)
            },
            "state": {"arm": rng.normal(size=state), "gripper": np.zeros(0)},
            "instruction": text,
        }
        for text in ("Put the stone", "put the stone on the table") * (COUNT // 2)
    ]
