"""Our half of the comparison with OpenVLA-OFT: its guest, beside transformers 4.40.1 as it is on the index.

`python oft_ours.py FOLDER GUEST VARIANT` reads FOLDER and FOLDER.npz of oft_own_loop.py. Prints one JSON line.
"""

import importlib
import importlib.metadata
import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import transformers
from oft_seen import CROPPED, IMAGES, KEY, observations


def main(folder, guest_file, variant):
    home = Path(guest_file).parent
    sys.path[:0] = [str(home), str(home.parent / "shared")]
    guest = importlib.import_module("guest")
    told = f"num_images_in_input={IMAGES[variant]} center_crop={CROPPED[variant]}"
    policy = guest.load(folder, KEY, told)
    saved = np.load(f"{folder}.npz")
    own, seen = saved["actions"], observations(variant)
    alone = [policy.act([each], [None])[0] for each in seen]
    together = policy.act(seen, [None] * len(seen))
    guest.Bidirectional = nullcontext
    causal = policy.act(seen, [None] * len(seen))
    found = {
        **{name: importlib.metadata.version(name) for name in ("transformers", "timm", "torch", "tensorflow-cpu")},
        "two_transformers": str(saved["transformers"]) != transformers.__file__,
        "compared": len(own),
        "differ": sum(not np.array_equal(a, b) for a, b in zip(own, alone, strict=True)),
        "differ_together": sum(not np.array_equal(a, b) for a, b in zip(own, together, strict=True)),
        "differ_causal": sum(not np.array_equal(a, b) for a, b in zip(own, causal, strict=True)),
        "different": len({a.tobytes() for a in own}),
        "shape": list(own[0].shape),
        "spec": policy.spec,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
