"""LeRobot's real classes explained in LeRobot's own environment: maps, activations, and answers by their loss.

They run where `pytest-vla install lerobot` was done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lerobot_interpreter import lerobots_python

from pytest_vla.isolate.family import HOME

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))


@pytest.mark.parametrize(
    "kind", ["diffusion", "smolvla", *(pytest.param(kind, marks=pytest.mark.proof) for kind in ("pi0", "pi05"))]
)
def test_how_likely_an_answer_is_follows_from_lerobots_own_loss(kind: str, tmp_path: Path) -> None:
    said = lerobots_python(HERE / "lerobot_own_loss.py", kind, tmp_path / kind, HOME / "lerobot" / "guest.py")
    found = json.loads(said.splitlines()[-1])
    assert found["ours"] == pytest.approx(found["theirs"], rel=1e-4), "as seen, and with another picture"
    assert found["ours"][0] != found["ours"][1]
    assert found["batched"] < 1e-2
    assert found["planned"] == 0.0, "what was planned before is certain"
    assert found["acts_as_before"]


@pytest.fixture(scope="module", params=["act", "smolvla", "diffusion"])
def explained(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    """A moment asked in LeRobot's interpreter, of random weights, and its units after the picture was swapped."""
    from gymnasium import spaces

    from benchmarks import explain_plants as plants
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.explain.asking import Asker
    from pytest_vla.explain.interventions import SWAPPED, Ablation
    from pytest_vla.explain.moment import Moment, Wishes, explain
    from pytest_vla.explain.scores import Ruler
    from pytest_vla.inference.session import held_source
    from pytest_vla.options import InferenceOptions
    from pytest_vla.policies import load_policy

    folder = tmp_path_factory.mktemp("lab") / request.param
    lerobots_python(HERE / "lerobot_folders.py", request.param, folder)
    policy = load_policy(str(folder)).policy
    source = held_source(policy, InferenceOptions())
    suite, rng = plants.PlantedSuite(), np.random.default_rng(0)
    views = [
        {
            "images": {"front": rng.integers(0, 256, (64, 64, 3), np.uint8)},
            "state": {"ee": rng.normal(size=4).astype(np.float32)},
            "instruction": words,
        }
        for words in ("put the stone", "go on table")
    ]
    asker = Asker(source, suite)
    asker.begin(EpisodeKey("planted", "look", "all", 0))
    ruler = Ruler(suite, spaces.Box(-1, 1, (4,), np.float32), source.spec.chunk)
    made = explain(asker, ruler, Moment(0, views[0], other=views[1]), ("front",), Wishes(patch=16), rng)
    units = asker.units(views[0], Ablation("camera front", SWAPPED, views[1]))
    policy.close()
    return request.param, made, units


def test_maps_of_pictures_words_and_inputs_are_made(explained: tuple[str, Any, Any]) -> None:
    kind, made, _ = explained
    assert len(made.cells) == 16
    assert all(cell.effect for cell in made.cells), "every patch changes the answer of random weights"
    assert made.unit.startswith("distance" if kind == "act" else "log-likelihood")
    assert made.verdicts["patches front"].alike is not None, "shuffled weights were asked there too"
    effects = {each.name: each.effect for each in made.ablations}
    assert effects["state swapped"]
    assert effects["camera front swapped"]
    assert bool(effects["instruction swapped"]) == (kind == "smolvla"), "the others do not read"
    assert any(each.effect for each in made.spans) == (kind == "smolvla")


def test_activations_are_patched_where_the_model_is(explained: tuple[str, Any, Any]) -> None:
    kind, _, units = explained
    restored = {unit["unit"]: unit["restored"] for unit in units["units"]}
    kinds = {unit["kind"] for unit in units["units"]}
    wanted = {"act": {"layer", "head", "mlp"}, "smolvla": {"layer", "head", "mlp"}, "diffusion": {"layer"}}
    assert wanted[kind] <= kinds
    assert units["clean"] != units["corrupted"]
    whole = {
        "act": "model.decoder.layers.0",
        "smolvla": "model.vlm_with_expert.vlm.model.vision_model.encoder.layers.1",
        "diffusion": "diffusion.rgb_encoder.0",
    }
    assert restored[whole[kind]] == pytest.approx(1.0, abs=1e-2), "nothing of the picture goes past it"
