"""A small visuomotor policy for the reach suite, trained here in a minute or two: pixels, words and the hand to chunks.

It sees two pictures of 48 pixels, reads lower-case words, and gives the next CHUNK actions as numbers of mean 0 and
deviation 1, which its conventions un-normalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import pytest_vla as vla
from benchmarks.reach_suite import COLOURS, PX, Oracle, Reach
from pytest_vla.policies.base import PolicySpec

CHUNK = 4
SUITES = ("reach", "reach_red", "reach_sliding")
CELLS = 24  # of a picture, along each side
WORDS = ("reach", "the", *COLOURS, "disc")


class ReachPolicy(nn.Module, vla.Policy):
    spec = PolicySpec(suites=SUITES, cameras=("main", "wrist"), state_keys=("ee",), chunk=CHUNK)

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS) + 1, 16)
        self.eyes = nn.ModuleList(
            nn.Sequential(nn.Conv2d(5, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU())
            for _ in range(2)
        )
        self.attends = nn.ModuleList(nn.Linear(16, width) for _ in range(2))
        self.arm = nn.Sequential(
            nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, CHUNK * 4)
        )
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("deviation", torch.ones(4))
        line = (torch.arange(CELLS) + 0.5) / CELLS * 2 - 1
        self.register_buffer(
            "grid", torch.stack([line[None].expand(CELLS, CELLS), -line[:, None].expand(CELLS, CELLS)])
        )

    def forward(self, images: Tensor, tokens: Tensor, ee: Tensor) -> Tensor:
        told = self.words(tokens).mean(1)
        found = []
        for number, (eye, attend) in enumerate(zip(self.eyes, self.attends, strict=True)):
            picture = F.avg_pool2d(images[:, number].permute(0, 3, 1, 2).float(), PX // CELLS) / 127.5 - 1
            seen = eye(torch.cat([picture, self.grid.expand(len(picture), -1, -1, -1)], 1))
            score = 4 * (seen * attend(told)[:, :, None, None]).sum(1).flatten(1)
            place = (score.softmax(1).view(-1, 1, CELLS, CELLS) * self.grid).sum((2, 3))
            found += [place, score.max(1, keepdim=True).values.tanh()]
        state = ee * torch.tensor([5.0, 5.0, 10.0, 1.0])
        return self.arm(torch.cat([*found, state], 1)).view(-1, CHUNK, 4)

    def inputs(self, observations: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
        images = np.stack([[o["images"][camera] for camera in ("main", "wrist")] for o in observations])
        tokens = [tokens_of(o["instruction"]) for o in observations]
        ee = np.stack([o["state"]["ee"] for o in observations])
        return torch.as_tensor(images), torch.as_tensor(tokens), torch.as_tensor(ee, dtype=torch.float32)

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        with torch.no_grad():
            made = self(*self.inputs(observations)) * self.deviation + self.mean
        return list(made.numpy())


def tokens_of(text: str) -> list[int]:
    """Six words; what was never seen in training is 0. It reads as it was trained: lower case, no full stop."""
    numbers = [WORDS.index(word) + 1 if word in WORDS else 0 for word in text.split()]
    return (numbers + [0] * 6)[:6]


def demonstrations(
    episodes: int, first: int = 100_000, noise: float = 0.02, suite: Reach | None = None
) -> tuple[list[Any], Any]:
    """Observations along noisy oracle episodes and the actions that follow each."""
    suite = suite or Reach()
    env = suite.make_env("reach")
    oracle, seen, chunks = Oracle(env), [], []
    rng = np.random.default_rng(0)
    for index in range(first, first + episodes):
        key = suite.episode("reach", "test", index)
        observation, _ = env.reset(options={"episode": key})
        rows, done = [], []
        for _ in range(16):
            action = oracle.act([observation], [None])[0]
            rows.append(observation)
            done.append(action)
            stirred = action + np.array([*rng.normal(0, noise, 3), 0], np.float32) * (rng.random() < 0.3)
            if action[3] < 0.5:
                done += [action] * CHUNK
                break
            observation = env.step(np.array([*stirred[:3], 1.0]))[0]
        done += [done[-1]] * CHUNK
        seen += rows
        chunks += [np.stack(done[place : place + CHUNK]) for place in range(len(rows))]
    for observation in seen:
        observation["instruction"] = observation["instruction"].lower().rstrip(".")
    return seen, np.stack(chunks)


def train(steps: int = 2500, episodes: int = 400, seed: int = 0) -> ReachPolicy:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    policy = ReachPolicy()
    seen, chunks = demonstrations(episodes)
    images, tokens, ee = policy.inputs(seen)
    actions = torch.as_tensor(chunks)
    policy.mean.copy_(actions.flatten(0, 1).mean(0))
    policy.deviation.copy_(actions.flatten(0, 1).std(0))
    wanted = (actions - policy.mean) / policy.deviation
    optimiser = torch.optim.AdamW(policy.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, steps + 1)
    for _ in range(steps):
        rows = torch.randint(len(seen), (64,))
        loss = F.smooth_l1_loss(policy(images[rows], tokens[rows], ee[rows]), wanted[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return policy.eval()


def trained(folder: Path, steps: int = 2500) -> ReachPolicy:
    """The policy after so many steps, kept in a folder."""
    path = folder / f"reach_{steps}.pt"
    policy = ReachPolicy().eval()
    if path.is_file():
        policy.load_state_dict(torch.load(path, weights_only=True))
        return policy
    policy = train(steps) if steps else policy
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(policy.state_dict(), path)
    return policy


def plain(policy: ReachPolicy) -> ReachPolicy:
    """With what it is used to: its wording is part of its conventions."""
    from pytest_vla.policies.conventions import Conventions, Wording

    policy.spec = replace(ReachPolicy.spec, conventions=Conventions(wording=Wording(case="lower", stop="none")))
    return policy
