"""Prompts: their text, their images, and the control with prompts that say nothing or something else."""

import pickle
import re

import numpy as np
import pytest
from pytest_vla.suites.vima.tasks import TASKS

from pytest_vla.episode import EpisodeKey
from pytest_vla.perturb import perturbed
from pytest_vla.registry import get_suite

COLOURS = "[a-z ]+"
TEMPLATES = {
    "visual_manipulation": r"Put the \{dragged_obj_1\} into the \{base_obj\}\.",
    "scene_understanding": rf"Put the {COLOURS} object in \{{scene\}} into the {COLOURS} object\.",
    "rotate": r"Rotate the \{dragged_obj\} (30|60|90|120|150) degrees\.",
    "rearrange": r"Rearrange to this \{scene\}\.",
    "rearrange_then_restore": r"Rearrange objects to this setup \{scene\} and then restore\.",
    "novel_adj": r"(\{demo_blicker_obj_\d\} is (daxer|blicker|modier|kobar) than \{demo_less_blicker_obj_\d\}\. ){3}"
    r"Put the (less )?\2 \{dragged_obj\} into the \{base_obj\}\.",
    "novel_noun": r"(This is a \w+ \{(dragged_obj_1|base_obj)\}\. ){2}Put a \w+ into a \w+\.",
    "novel_adj_and_noun": r"(This is a \w+ \{(dragged_obj|base_obj)\}\. ){2}"
    r"(\{demo_blicker_obj_\d\} is (daxer|blicker|modier|kobar) than \{demo_less_blicker_obj_\d\}\. ){3}"
    r"Put the (less )?\4 \w+ into the \w+\.",
    "twist": r'"Twist" is defined as rotating object a specific angle\. For examples: '
    rf"(From \{{before_twist_\d\}} to \{{after_twist_\d\}}\. ){{3}}Now twist all {COLOURS} objects\.",
    "follow_motion": r"Follow this motion for \{dragged_obj\}: \{frame_0\} \{frame_1\} \{frame_2\}\.",
    "follow_order": r"Stack objects in this order \{frame_0\} \{frame_1\} \{frame_2\}\.",
    "sweep_without_exceeding": r"Sweep (any|one|two|three|all) \{swept_obj\} into \{bounds\} "
    r"without exceeding \{constraint\}\.",
    "sweep_without_touching": r"Sweep (any|one|two|three|all) \{swept_obj\} into \{bounds\} "
    r"without touching \{constraint\}\.",
    "same_texture": r"Put all objects with the same texture as \{base_obj\} into it\.",
    "same_shape": r"Put all objects with the same profile as \{base_obj\} into it\.",
    "manipulate_old_neighbor": r"First put \{dragged_obj\} into \{base_obj\} then put the object that was previously "
    r"at its (north|south|west|east) into the same \{base_obj\}\.",
    "pick_in_order_then_restore": r"Put \{dragged_obj\} into \{base_obj_1\} then \{base_obj_2\}\. "
    r"Finally restore it into its original container\.",
}


def key(task, index=0, perturbation=""):
    return EpisodeKey("vima", task, list(TASKS[task].partitions)[-1], index, perturbation)


@pytest.mark.parametrize("task", TASKS)
def test_the_text_is_the_template_of_the_protocol(task):
    for index in range(30):
        assert re.fullmatch(TEMPLATES[task], TASKS[task].instance(key(task, index)).prompt.text)


@pytest.mark.parametrize("task", TASKS)
def test_every_image_of_a_prompt_shows_what_it_names(env, task):
    env.reset(options={"episode": key(task)})
    assert {piece.text for piece in env.prompt.pieces() if piece.image} == set(env.prompt.assets)
    for asset in env.prompt.assets.values():
        for view in ("front", "top"):
            rgb, mask = asset.rgb[view], asset.segmentation[view]
            assert rgb.shape == (128, 256, 3)
            assert rgb.dtype == np.uint8
            assert mask.shape == (128, 256)
            assert mask.dtype == np.uint8
            assert set(np.unique(mask)) <= {0, 1, 255, *asset.objects}
            if view == "top" and asset.kind == "object":
                assert (rgb[mask == 255] == 255).all()
            if asset.kind == "scene":
                assert (rgb[mask == 1] == 47).all()
                assert (rgb[mask == 0] == 239).all()
                assert min(asset.objects) == 2


def test_pieces_read_as_the_text(env):
    env.reset(options={"episode": key("novel_adj")})
    text = "".join(f"{{{piece.text}}}" if piece.image else piece.text for piece in env.prompt.pieces())
    assert text == env.prompt.text


def test_images_are_drawn_when_asked_for_and_only_once(env, monkeypatch):
    drawn = []
    env.reset(options={"episode": key("twist")})
    draw = env.prompt.draw
    monkeypatch.setattr(env.prompt, "draw", lambda asset, name: drawn.append(name) or draw(asset, name))
    assert env.prompt.text
    assert not drawn
    env.prompt.pieces(), env.prompt.pieces()
    assert len(drawn) == 6


def test_a_prompt_takes_its_images_along_to_another_process(env):
    env.reset(options={"episode": key("rotate")})
    sent = pickle.loads(pickle.dumps(env.prompt))
    assert sent.text == env.prompt.text
    assert np.array_equal(sent.assets["dragged_obj"].rgb["top"], env.prompt.assets["dragged_obj"].rgb["top"])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("ablation", ["language.empty=1", "language.shuffle=8", "language.contradict=1"])
def test_an_ablation_changes_the_prompt_and_nothing_else(env, task, ablation):
    normal, _ = env.reset(options={"episode": key(task, 1)})
    text, digest, ids = env.prompt.text, env.digest(), env.ids
    episode = key(task, 1, ablation)
    ablated, _ = perturbed(env, get_suite("vima"), episode).reset(options={"episode": episode})
    prompt = ablated["prompt"]
    assert ablated["instruction"] == prompt.text
    assert (env.digest(), env.ids) == (digest, ids)
    for name in ("images", "segmentation"):
        for view in ("front", "top"):
            assert np.array_equal(normal[name][view], ablated[name][view])
    if ablation == "language.empty=1":
        assert (prompt.text, prompt.assets) == ("", {})
    if ablation == "language.shuffle=8":
        assert prompt.text != text
        assert sorted(prompt.text.split()) == sorted(text.split())
    if ablation == "language.contradict=1":
        assert re.fullmatch(TEMPLATES[task], prompt.text)
