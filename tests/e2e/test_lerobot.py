"""With the real LeRobot, where it is installed: it reads our datasets, and its policies act here as they do there."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lerobot")
torch = pytest.importorskip("torch")

from pytest_vla.cli import main  # noqa: E402
from pytest_vla.episode import EpisodeKey  # noqa: E402
from pytest_vla.policies.lerobot import load_folder  # noqa: E402

FAMILIES = Path(__file__).parents[1] / "families"
CHUNK, EXECUTED = 10, 5


@pytest.fixture(scope="module")
def act(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pretrained folder of LeRobot's ACT, with random weights and normalisation that matters."""
    sys.path.append(str(FAMILIES))
    from lerobot_folders import save

    folder = tmp_path_factory.mktemp("lerobot") / "act"
    save("act", folder)
    return folder


def test_a_policy_gives_the_actions_that_lerobots_own_loop_gives(act: Path) -> None:
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot.policies.factory import make_pre_post_processors

    theirs = ACTPolicy.from_pretrained(act).eval()
    before, after = make_pre_post_processors(theirs.config, str(act))
    theirs.reset()
    ours = load_folder(act)
    course = ours.reset(EpisodeKey("s", "t", "p", 0))
    assert (ours.spec.cameras, ours.spec.chunk, ours.spec.horizon) == (("front",), CHUNK, EXECUTED)
    rng = np.random.default_rng(0)
    for step in range(2 * EXECUTED + 1):
        image, state = rng.integers(0, 256, (64, 64, 3), np.uint8), rng.normal(size=4).astype(np.float32)
        if step % EXECUTED == 0:
            observation = {"images": {"front": image}, "state": {"ee": state}, "instruction": "put it away"}
            (chunk,) = ours.act([observation], [course])
        batch = {
            "observation.images.front": torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255,
            "observation.state": torch.from_numpy(state)[None],
            "task": ["put it away"],
        }
        expected = after(theirs.select_action(before(batch)))[0].numpy()
        assert chunk[step % EXECUTED] == pytest.approx(expected, abs=1e-5)


def test_lerobot_reads_what_we_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pybullet")
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    from pytest_vla.train.dataset import read_dataset

    monkeypatch.chdir(tmp_path)
    options = ["--vla-suite=vima", "--partition=train", "--task=rotate,twist", "--episodes=2", "--cameras=top"]
    assert main(["record", *options, "--out=demos"]) == 0
    ours = list(read_dataset(tmp_path / "demos"))
    theirs = LeRobotDataset("local/demos", root=tmp_path / "demos")
    assert (theirs.num_episodes, theirs.num_frames) == (len(ours), sum(map(len, ours)))
    frames = [(demonstration, step) for demonstration in ours for step in range(len(demonstration))]
    for number, (demonstration, step) in enumerate(frames):
        frame = theirs[number]
        image = (frame["observation.images.top"].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
        assert np.array_equal(image, demonstration.images["top"][step])
        assert np.array_equal(frame["action"].numpy(), demonstration.action[step])
        assert frame["task"] == demonstration.instruction
