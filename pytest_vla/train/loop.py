"""`pytest-vla train`: behaviour cloning on a CPU, the same result every time, with progress and resuming."""

from __future__ import annotations

import math
import os
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla.policies.base import Policy
from pytest_vla.policies.checkpoint import save_checkpoint
from pytest_vla.policies.loading import import_name
from pytest_vla.suggest import unknown
from pytest_vla.train.dataset import read_dataset, read_info
from pytest_vla.train.errors import TrainError

VALIDATE_EVERY_EPISODES = 50  # one episode in so many is not trained on
Example = Mapping[str, Any]


@dataclass(frozen=True)
class TrainConfig:
    """What a training file says. Paths in it are relative to the file."""

    policy: str
    data: Path
    output: Path
    config: dict[str, Any] = field(default_factory=dict)
    steps: int = 10_000
    batch: int = 64
    learning_rate: float = 5e-4
    warmup: int = 500
    weight_decay: float = 0.05
    average: float = 0.999  # of the weights over the last steps; what is saved
    clip: float = 1.0
    seed: int = 0
    threads: int = 1  # more are faster, and may add in another order
    save_every: int = 1000

    @classmethod
    def read(cls, path: Path, *, data: Path | None = None, output: Path | None = None) -> TrainConfig:
        """The configuration in a TOML file; `data` and `output` take the place of its own."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise TrainError(f"there is no training file '{path}'") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise TrainError(f"{path}: {error}") from None
        known = [item.name for item in fields(cls)]
        for name in table:
            if name not in known:
                raise TrainError(unknown("entry", name, known, f"in {path}"))
        for name, given in (("policy", None), ("data", data), ("output", output)):
            if name not in table and given is None:
                raise TrainError(f"{path} does not say '{name}'")
        for item in fields(cls):
            if item.type in ("int", "float") and item.name in table:
                _check_number(path, item.name, table[item.name], whole=item.type == "int")
        table["data"] = data or path.parent / table["data"]
        table["output"] = output or path.parent / table["output"]
        return cls(**table)


def _check_number(path: Path, name: str, value: Any, *, whole: bool) -> None:
    least = 1 if name in ("steps", "batch", "threads", "save_every") else 0
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or value < least:
        raise TrainError(f"{path}: {name} must be a {'whole ' if whole else ''}number, {least} or more, got {value!r}")


def train(config: TrainConfig, *, resume: bool = False, say: Callable[[str], None] = print) -> Path:
    """Train a policy and write its checkpoint; returns the checkpoint's path."""
    try:
        import torch
    except ImportError:
        raise TrainError('training needs torch: pip install "pytest-vla[train]"') from None
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    model = _model(config)
    config.output.parent.mkdir(parents=True, exist_ok=True)  # now, not after the last step
    training, validation, tasks = _examples(config, model, say)
    weights = sum(parameter.numel() for parameter in model.parameters())
    say(f"{len(training)} examples to train on, {len(validation)} to validate with; {weights / 1e6:.2f} M weights")
    run = _Run(config, model, training, validation, say)
    if resume:
        run.restore()
    run.go()
    trained = run.averaged()
    trained.spec = replace(trained.spec, trained_on=tuple(sorted(tasks)))
    save_checkpoint(config.output, trained, config.config)
    run.saved.unlink(missing_ok=True)
    say(f"checkpoint: {config.output} ({config.output.stat().st_size / 1e6:.1f} MB)")
    return config.output


def _model(config: TrainConfig) -> Any:
    kind = import_name(config.policy)
    if not (isinstance(kind, type) and issubclass(kind, Policy) and hasattr(kind, "loss")):
        raise TrainError(f"{config.policy!r} cannot be trained: it must be a Policy with examples() and loss()")
    try:
        return kind(**config.config)
    except TypeError as error:
        raise TrainError(f"[config] does not fit {config.policy!r}: {error}") from None


def _examples(
    config: TrainConfig, model: Any, say: Callable[[str], None]
) -> tuple[list[Example], list[Example], set[str]]:
    """What to train on, what to validate with, and the tasks they are of."""
    total = read_info(config.data)["total_episodes"]
    say(f"reading {total} demonstrations from {config.data}")
    training: list[Example] = []
    validation: list[Example] = []
    tasks: set[str] = set()
    for number, demonstration in enumerate(read_dataset(config.data)):
        into = validation if number % VALIDATE_EVERY_EPISODES == VALIDATE_EVERY_EPISODES - 1 else training
        into.extend(model.examples(demonstration))
        tasks.add(demonstration.task)
        if (number + 1) * 10 // total > number * 10 // total:
            say(f"{number + 1} of {total} read")
    if not training:
        raise TrainError(f"{config.data} holds no example that {config.policy} could learn from")
    return training, validation, tasks


class _Run:
    """The state of a training run: everything in it follows from the configuration and the step."""

    def __init__(
        self,
        config: TrainConfig,
        model: Any,
        training: Sequence[Example],
        validation: Sequence[Example],
        say: Callable[[str], None],
    ) -> None:
        import torch

        self.config, self.model, self.say = config, model, say
        self.training, self.validation = training, validation
        decayed = [p for p in model.parameters() if p.ndim >= 2]
        plain = [p for p in model.parameters() if p.ndim < 2]
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98))
        self.average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.step = 0
        self.saved = config.output.with_suffix(".training.pt")
        self.collate = getattr(model, "collate", None) or _stacked

    def go(self) -> None:
        import torch

        start, first, recent = time.perf_counter(), self.step, _Means()
        while self.step < self.config.steps:
            torch.manual_seed(self.config.seed * 1_000_003 + self.step)  # a resumed run draws what the first would have
            recent.add(self._learn(self._batch()))
            self.step += 1
            if self.step % 100 == 0 or self.step == self.config.steps:
                rate = (self.step - first) / (time.perf_counter() - start)
                left = (self.config.steps - self.step) / rate
                self.say(
                    f"step {self.step}/{self.config.steps}  {recent}  {rate:.1f} steps/s, {left / 60:.0f} min left"
                )
                recent = _Means()
            if self.step % self.config.save_every == 0 and self.step < self.config.steps:
                self.save()
                self._validate()
        self._validate()

    def averaged(self) -> Any:
        """The model with the mean of its last weights."""
        self.model.load_state_dict(self.average)
        self.model.eval()
        return self.model

    def save(self) -> None:
        import torch

        content = {
            "step": self.step,
            "model": self.model.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
        }
        partial = self.saved.with_suffix(".partial")
        torch.save(content, partial)
        os.replace(partial, self.saved)  # an interrupted save leaves the one before

    def restore(self) -> None:
        import torch

        if not self.saved.is_file():
            raise TrainError(f"there is nothing to resume: '{self.saved}' does not exist")
        content = torch.load(self.saved, weights_only=True)
        try:
            self.model.load_state_dict(content["model"])
            self.optimizer.load_state_dict(content["optimizer"])
        except (RuntimeError, ValueError, KeyError) as error:
            raise TrainError(f"'{self.saved}' is of another configuration: {error}") from None
        self.average, self.step = content["average"], content["step"]
        self.say(f"resuming after step {self.step}")

    def _batch(self) -> Any:
        """The examples of this step: every epoch is a new order, and the step alone says which."""
        size = min(self.config.batch, len(self.training))
        epoch, place = divmod(self.step, len(self.training) // size)
        order = self._order(epoch)
        return self.collate([self.training[i] for i in order[place * size : (place + 1) * size]])

    def _order(self, epoch: int) -> Any:
        if getattr(self, "_ordered", (None, None))[0] != epoch:
            rng = np.random.default_rng([self.config.seed, epoch])
            self._ordered = (epoch, rng.permutation(len(self.training)))
        return self._ordered[1]

    def _learn(self, batch: Any) -> dict[str, float]:
        import torch

        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        loss, said = self.model.loss(batch)
        if not math.isfinite(loss.item()):
            raise TrainError(f"the loss is {loss.item()} at step {self.step}: lower learning_rate")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        keep = min(self.config.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                if value.dtype.is_floating_point:
                    self.average[name].lerp_(value, 1 - keep)
                else:
                    self.average[name].copy_(value)
        return {"loss": loss.item(), **said}

    def _rate(self) -> float:
        """Up in a line, down along a cosine."""
        config = self.config
        if self.step < config.warmup:
            return config.learning_rate * (self.step + 1) / config.warmup
        done = (self.step - config.warmup) / max(config.steps - config.warmup, 1)
        return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))

    def _validate(self) -> None:
        """Say what the averaged weights make of episodes that are not trained on, if there are any."""
        import torch

        if not self.validation:
            return
        means, size = _Means(), self.config.batch
        now = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.averaged()
        with torch.no_grad():
            for start in range(0, len(self.validation), size):
                loss, said = self.model.loss(self.collate(self.validation[start : start + size]))
                means.add({"loss": loss.item(), **said})
        self.model.load_state_dict(now)
        self.say(f"validation: {means}")


class _Means:
    """Running means of named numbers."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.count = 0

    def add(self, values: Mapping[str, float]) -> None:
        self.count += 1
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def __str__(self) -> str:
        return " ".join(f"{name} {value / max(self.count, 1):.4g}" for name, value in self.sums.items())


def _stacked(examples: Sequence[Example]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(np.stack([example[name] for example in examples])) for name in examples[0]}
