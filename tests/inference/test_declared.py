"""What a policy is given: what it declared, and nothing else is even drawn."""

from pytest_vla.inference.local import declared
from pytest_vla.kit.images import LazyImages
from pytest_vla.policies import PolicySpec


def observation(drawn):
    def draw(name):
        drawn.append(name)
        return name

    scan = {"things": ["lid"], "cameras": LazyImages(("front", "wrist"), lambda name: draw(f"scan of {name}"))}
    return {"images": LazyImages(("front", "wrist"), draw), "scan": scan, "prompt": "text", "instruction": "go"}


def test_a_camera_that_is_not_declared_is_not_drawn():
    drawn = []
    seen = declared(observation(drawn), PolicySpec(cameras=("front",)))
    assert seen == {"images": {"front": "front"}, "instruction": "go"}
    assert drawn == ["front"]


def test_what_cameras_measure_is_given_where_it_is_asked_for():
    drawn = []
    seen = declared(observation(drawn), PolicySpec(cameras=("front",), scan=("wrist",), prompt=True))
    assert seen["scan"] == {"things": ["lid"], "cameras": {"wrist": "scan of wrist"}}
    assert seen["prompt"] == "text"
    assert drawn == ["front", "scan of wrist"]
