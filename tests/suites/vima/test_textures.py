"""Textures are complete, seamless, repeatable, and easy to tell apart."""

import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from pytest_vla.suites.vima.textures import NEUTRAL, TEXTURE_SETS, TEXTURES, average_rgb, texture_image

IMAGES = [name for name, spec in TEXTURES.items() if spec.kind == "image"]
DARK = [name for name, spec in TEXTURES.items() if spec.dark]


def thumbnail(name: str) -> np.ndarray:
    """Colour and place at about the resolution of the benchmark's cameras."""
    return np.asarray(texture_image(name).astype(float).reshape(8, 16, 8, 16, 3).mean(axis=(1, 3)))


def test_there_are_49_light_and_33_dark_textures_in_the_original_order() -> None:
    names = list(TEXTURES)
    assert (len(names), len(DARK)) == (82, 33)
    assert names[:2] == ["brick", "tiles"]
    assert names[10:12] == ["red and yellow stripe", "dark red and yellow stripe"]
    assert names[-1] == "dark cyan"
    assert sum(spec.kind == "plain" for spec in TEXTURES.values()) == 17


@pytest.mark.parametrize("name", [*TEXTURES, NEUTRAL.name])
def test_image_is_rgb_of_the_asked_size(name: str) -> None:
    image = texture_image(name, 48)
    assert (image.shape, image.dtype) == ((48, 48, 3), np.uint8)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("axis", [0, 1])
def test_tiles_without_a_seam(name: str, axis: int) -> None:
    image = texture_image(name).astype(float)
    steps = np.abs(image - np.roll(image, 1, axis)).mean(axis=(1 - axis, 2))
    # The step over the tile's edge is no sharper than the steps that the pattern has anyway.
    assert steps[0] <= 1.3 * steps[1:].max() + 1


def test_every_pair_can_be_told_apart() -> None:
    thumbnails = {name: thumbnail(name) for name in [*TEXTURES, NEUTRAL.name]}
    distance = {
        (a, b): float(np.sqrt(np.mean((thumbnails[a] - thumbnails[b]) ** 2))) for a, b in combinations(thumbnails, 2)
    }
    closest = min(distance, key=lambda pair: distance[pair])
    assert distance[closest] > 12, closest


@pytest.mark.parametrize("name", DARK)
def test_dark_is_its_light_twin_with_less_value(name: str) -> None:
    twin = TEXTURES[name].light_twin
    assert twin is not None
    light, dark = (texture_image(n).astype(float).max(axis=2) / 255 for n in (twin, name))
    assert dark == pytest.approx(np.maximum(light - 0.3, 0), abs=0.006)


def test_light_textures_have_no_twin() -> None:
    assert all(spec.light_twin is None for spec in TEXTURES.values() if not spec.dark)


@pytest.mark.parametrize(
    ("name", "rgb"),
    [("red", (255, 87, 89)), ("olive", (128, 128, 0)), ("dark blue", (42, 66, 90)), ("gray", (186, 176, 172))],
)
def test_plain_colours_are_the_published_ones(name: str, rgb: tuple[int, int, int]) -> None:
    assert average_rgb(name) == rgb
    assert np.all(texture_image(name) == rgb)


def test_neutral_gray_is_not_one_of_the_82() -> None:
    assert NEUTRAL.name not in TEXTURES


def test_set_sizes_are_those_of_the_benchmark() -> None:
    sizes = {key: len(names) for key, names in TEXTURE_SETS.items()}
    assert sizes == {
        "A": 19,
        "B": 20,
        "A_DARK": 24,
        "B_DARK": 28,
        "ALL49": 49,
        "HALF1": 24,
        "HALF2": 25,
        "LIGHT_DARK": 66,
    }
    assert all(len(set(names)) == len(names) and set(names) <= set(TEXTURES) for names in TEXTURE_SETS.values())


def test_sets_relate_as_the_benchmark_says() -> None:
    sets = {key: set(names) for key, names in TEXTURE_SETS.items()}
    assert not sets["A"] & sets["B"]
    assert sets["ALL49"] - sets["A"] - sets["B"] == {
        *("brick", "magma", "red and green stripe", "green and blue stripe", "red and purple polka dot"),
        *("yellow and green polka dot", "yellow swirl", "purple paisley", "orange", "pink"),
    }
    assert TEXTURE_SETS["HALF1"] + TEXTURE_SETS["HALF2"] == TEXTURE_SETS["ALL49"]
    assert not any(TEXTURES[name].dark for name in TEXTURE_SETS["ALL49"])
    for light, dark in (("A", "A_DARK"), ("B", "B_DARK")):
        with_twin = {name for name in sets[light] if f"dark {name}" in TEXTURES}
        assert sets[dark] == with_twin | {f"dark {name}" for name in with_twin}


def test_light_dark_lists_each_texture_before_its_dark_twin() -> None:
    pairs = list(zip(TEXTURE_SETS["LIGHT_DARK"][::2], TEXTURE_SETS["LIGHT_DARK"][1::2], strict=True))
    assert all(TEXTURES[dark].light_twin == light for light, dark in pairs)
    assert pairs[0] == ("blue", "dark blue")
    assert pairs[8][0] == "red and yellow stripe"


def test_another_process_paints_the_same_pixels() -> None:
    code = (
        "import sys; from pytest_vla.suites.vima.textures import TEXTURES, texture_image\n"
        "sys.stdout.buffer.write(b''.join(texture_image(name, 16).tobytes() for name in TEXTURES))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    painted = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout
    assert painted == b"".join(texture_image(name, 16).tobytes() for name in TEXTURES)


def test_image_may_be_painted_on() -> None:
    texture_image("brick")[:] = 0
    assert texture_image("brick").any()


def test_unknown_texture_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match=r"plaid.*brick"):
        texture_image("plaid")
