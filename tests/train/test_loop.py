"""Training: it learns, the same way every time, and an interruption costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_up import demonstration, write
from torch import nn

from pytest_vla.cli import main
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.policies.checkpoint import load_checkpoint
from pytest_vla.train import loop
from pytest_vla.train.demonstration import Demonstration
from pytest_vla.train.errors import DatasetError, TrainError
from pytest_vla.train.loop import TrainConfig, train

POLICY = f"{__name__}:Linear"
OURS = "pytest_vla.suites.vima.policy.object_tokens:ObjectTokenPolicy"


class Linear(nn.Module, Policy):
    """Learns the action from the state."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale, self.layer = scale, nn.Linear(3, 3)

    @staticmethod
    def examples(demonstration: Demonstration) -> list[dict[str, Any]]:
        state = np.concatenate(list(demonstration.state.values()), 1)
        return [{"state": seen, "action": seen @ np.diag(np.float32([1, 2, 3]))} for seen in state]

    def loss(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        noise = 0.01 * torch.randn_like(batch["state"])  # what a resumed run must draw again
        error = (self.layer(batch["state"] + noise) * self.scale - batch["action"]).square().mean()
        return error, {"error": error.item()}

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        raise NotImplementedError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data", *(demonstration(i, 4) for i in range(60)))


def config(data: Path, name: str = "policy.pt", **changed: Any) -> TrainConfig:
    given = {"steps": 60, "batch": 16, "learning_rate": 0.05, "warmup": 5, "save_every": 20, "average": 0.9}
    return TrainConfig(POLICY, data, data.parent / name, {"scale": 2.0}, **{**given, **changed})


def weights(path: Path) -> torch.Tensor:
    return load_checkpoint(path).layer.weight  # type: ignore[attr-defined]


def test_it_learns_and_says_how_far_it_is(data: Path) -> None:
    said: list[str] = []
    path = train(config(data, steps=400), say=said.append)
    np.testing.assert_allclose(2 * weights(path).detach().diag()[:2], [1, 2], atol=0.1)
    assert "60 demonstrations" in said[0]
    assert any(line.startswith("step 100/400") and "min left" in line for line in said)
    assert any(line.startswith("validation: loss") for line in said)
    assert not list(data.parent.glob("*.training*"))


def test_the_same_seed_gives_the_same_bits(data: Path) -> None:
    one, other = train(config(data, "one.pt")), train(config(data, "other.pt"))
    assert torch.equal(weights(one), weights(other))
    assert not torch.equal(weights(one), weights(train(config(data, "third.pt", seed=1))))


def test_an_interrupted_training_ends_up_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(config(data, "whole.pt"))
    learn = loop._Run._learn

    def interrupted(run: Any, batch: Any) -> Any:
        if run.step == 47:
            raise KeyboardInterrupt
        return learn(run, batch)

    monkeypatch.setattr(loop._Run, "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(config(data, "parts.pt"))
    monkeypatch.undo()
    said: list[str] = []
    parts = train(config(data, "parts.pt"), resume=True, say=said.append)
    assert "resuming after step 40" in said
    assert torch.equal(weights(whole), weights(parts))


def test_the_checkpoints_folder_is_made_before_the_first_step(data: Path) -> None:
    assert train(config(data, "new/folder/policy.pt", steps=1)).is_file()


def test_nothing_to_resume_is_said(data: Path) -> None:
    with pytest.raises(TrainError, match="nothing to resume"):
        train(config(data), resume=True)


def test_a_loss_that_is_no_number_stops_the_training(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linear, "loss", lambda self, batch: (self.layer.weight.sum() * float("nan"), {}))
    with pytest.raises(TrainError, match="lower learning_rate"):
        train(config(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("polic = 1", "did you mean 'policy'"),
        ("policy = 'a:B'", "does not say 'data'"),
        ("policy = 'a:B'\ndata = 'd'\noutput = 'o'\nsteps = 'many'", "steps must be a whole number"),
        ("policy = 'a:B'\ndata = 'd'\noutput = 'o'\nbatch = 0", "1 or more"),
        ("policy = ", "bad.toml"),
        ("policy = 'json:loads'\ndata = 'd'\noutput = 'o'", "cannot be trained"),
        (f"policy = '{OURS}'\ndata = 'd'\noutput = 'o'", "pytest-vla record"),
        (f"policy = '{OURS}'\ndata = 'd'\noutput = 'o'\nconfig = {{depth = 3}}", "depth"),
    ],
)
def test_a_bad_training_file_is_one_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert main(["train", f"--config={path}"]) == 4
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_the_file_may_be_told_other_paths(tmp_path: Path) -> None:
    path = tmp_path / "train.toml"
    path.write_text("policy = 'a:B'\nsteps = 7")
    read = TrainConfig.read(path, data=Path("here"), output=Path("there.pt"))
    assert (read.data, read.output, read.steps) == (Path("here"), Path("there.pt"), 7)


def test_no_dataset_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is no dataset"):
        train(config(tmp_path / "nowhere"))
