"""A LeRobot pretrained folder as a policy: LeRobot's classes and processors, with what they remember kept per episode.

It runs beside LeRobot's packages, in their environment or in ours, and imports nothing of pytest-vla.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any

import numpy as np
import torch

ACTION, IMAGES, STATE = "action", "observation.images", "observation.state"
PICTURE = "observation.image"  # and whatever follows: `observation.images.front`, `observation.image2`
RESIZING = ("smolvla", "pi0", "pi05", "pi0_fast")  # their own code brings pictures to the size they want
FLOWS = ("smolvla", "pi0", "pi05")  # one draw of noise a call, by a method of the model
DRAWLESS = ("act",)
LOSS_DRAWS = 4  # of noise, each at a time of its own, in an answer's loss
KEPT_PLANS = 512
#: names of cameras that tell nothing but their order
ORDER = ("main", "wrist", "right", "left")


class Episode:
    """What one episode remembers: its seed, how often it was asked, past observations, actions not yet given."""

    def __init__(self, seed: int, history: dict[str, deque[Any]], ensembler: Any) -> None:
        self.seed, self.calls = seed, 0
        self.history, self.ensembler = history, ensembler
        self.actions: deque[Any] = deque()

    def generator(self, *draw: int) -> torch.Generator:
        """For the draws of one call: they follow from the episode's key and the number of the call alone."""
        return torch.Generator().manual_seed(noise_seed(self.seed, self.calls, *draw))


def noise_seed(seed: int, *numbers: int) -> int:
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1, np.uint64)[0] % (1 << 63))


def _nats(losses: Any, numbers: int) -> list[float]:
    """Of summed mean squared errors: as if each number were drawn from a unit Gaussian about what the network says."""
    return [-0.5 * numbers * float(loss) / LOSS_DRAWS for loss in losses]


class LeRobotPolicy:
    """Rows are batched; nothing of an episode is in `self`, where LeRobot's own classes have one queue for all."""

    def __init__(self, folder: Path, model: Any, before: Any, after: Any) -> None:
        self.model, self.before, self.after = model, before, after
        self._saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.type, self._features = str(self._saved["type"]), self._saved["input_features"]
        self._device = "cpu"
        self.pictures = {_camera(name): name for name in self._features if name.startswith(PICTURE)}
        self.remembers = hasattr(model, "_queues") and self.type not in FLOWS
        self.ensembles = self._saved.get("temporal_ensemble_coeff") is not None
        self.spec = self._spec()
        if self.type in FLOWS:
            model.model.sample_noise = self._noise
            self.log_prob = self._flow_log_prob
        if self.type == "diffusion":
            self.log_prob = self._diffusion_log_prob
        self._generators: list[torch.Generator] = []
        self._plans: OrderedDict[bytes, Any] = OrderedDict()

    def _spec(self) -> dict[str, Any]:
        """In the words of `PolicySpec`."""
        whole = not (self.remembers or self.ensembles)
        chunk = int(self._saved.get("chunk_size") or self._saved.get("horizon") or 1) if whole else 1
        sizes = {camera: self._shape(name)[1:] for camera, name in self.pictures.items() if self._shape(name)}
        roles = {camera: ORDER[place] for place, camera in enumerate(self.pictures) if place < len(ORDER)}
        found: dict[str, Any] = {
            "cameras": list(self.pictures),
            "state": STATE in self._features,
            "state_size": sum(self._shape(STATE)),
            "action_size": sum(self._saved.get("output_features", {}).get(ACTION, {}).get("shape", [])),
            "chunk": chunk,
            "horizon": int(self._saved.get("n_action_steps") or chunk) if chunk > 1 else None,
            "image_sizes": {} if self.type in RESIZING else sizes,
        }
        if any(_says_nothing(camera) for camera in self.pictures):
            found["conventions"] = {"cameras": {camera: {"role": role} for camera, role in roles.items()}}
        return found

    def _shape(self, feature: str) -> list[int]:
        return list(self._features.get(feature, {}).get("shape") or [])

    def to(self, device: str) -> LeRobotPolicy:
        self.model.to(device)
        self._device = device
        for pipeline in (self.before, self.after):
            for step in pipeline.steps:
                if type(step).__name__ == "DeviceProcessorStep" and pipeline is self.before:
                    step.device = device
                    step.__post_init__()
                elif hasattr(step, "to"):
                    step.to(device=device)
        return self

    def reset(self, episode: Any) -> Episode:
        history: dict[str, deque[Any]] = {}
        if self.remembers:
            self.model.reset()
            history = {name: deque(maxlen=queue.maxlen) for name, queue in self.model._queues.items() if name != ACTION}
        ensembler = None
        if self.ensembles:
            kind = type(self.model.temporal_ensembler)
            ensembler = kind(self._saved["temporal_ensemble_coeff"], self._saved["chunk_size"])
        return Episode(int(episode.seed), history, ensembler)

    @torch.no_grad()
    def act(self, observations: list[Any], states: list[Episode]) -> list[Any]:
        if not self.remembers:
            return self._chunks(observations, states)
        self._remember(observations, states)
        due = [state for state in states if not state.actions]
        if due:
            for state, actions in zip(due, self._planned(due), strict=True):
                state.actions.extend(actions)
        return [self._given(state.actions.popleft()[None])[0] for state in states]

    def _remember(self, observations: list[Any], states: list[Episode]) -> None:
        batch = self._stacked_images(self.before(self._batch(observations)))
        for row, state in enumerate(states):
            for name, queue in state.history.items():
                if name in batch:
                    seen = batch[name][row : row + 1]
                    queue.extend([seen] * (1 if queue else queue.maxlen or 1))

    def _chunks(self, observations: list[Any], states: list[Episode]) -> list[Any]:
        """Of those who need no history: whole chunks, or the action that chunks of the past and this one make."""
        if self.type in (*FLOWS, *DRAWLESS):
            self._generators = [state.generator() for state in states]
            chunk = self.model.predict_action_chunk(self.before(self._batch(observations)))
        else:
            chunk = torch.cat([self._alone(observations[row], state) for row, state in enumerate(states)])
        for state in states:
            state.calls += 1
        if self.ensembles:
            return [self._given(state.ensembler.update(chunk[row : row + 1]))[0] for row, state in enumerate(states)]
        rows, steps = chunk.shape[:2]
        given = self._given(chunk.reshape(rows * steps, -1)).reshape(rows, steps, -1)
        return list(given if self.spec["chunk"] > 1 else given[:, 0])

    def _alone(self, observation: Any, state: Episode) -> Any:
        """A family whose draws are not known here: by itself, with the global generator seeded."""
        torch.manual_seed(noise_seed(state.seed, state.calls))
        return self.model.predict_action_chunk(self.before(self._batch([observation])))

    def _planned(self, states: list[Episode]) -> list[Any]:
        """Actions from the observations that each episode remembers, (steps, numbers) a row."""
        if self.type == "diffusion":
            return list(self._diffused(states))
        plans = []
        for state in states:
            torch.manual_seed(noise_seed(state.seed, state.calls))
            state.calls += 1
            plans.append(self.model.predict_action_chunk(self._remembered([state]))[0])
        return plans

    def _diffused(self, states: list[Episode]) -> Any:
        """All rows at once; all noise is drawn row by row, each from its own generator."""
        generators = [state.generator() for state in states]
        for state in states:
            state.calls += 1
        shape = (1, self._saved["horizon"], self.spec["action_size"])
        noise = torch.cat([torch.randn(shape, generator=generator) for generator in generators]).to(self._device)
        network = self.model.diffusion
        scheduler, sample = network.noise_scheduler, network.conditional_sample
        step, whole = type(scheduler).step, list[Any]()
        given: dict[str, Any] = {} if "DDIM" in type(scheduler).__name__ else {"generator": generators}
        scheduler.step = lambda *values, **options: step(scheduler, *values, **{**options, **given})

        def sampled(*values: Any, **options: Any) -> Any:
            whole.append(sample(*values, **options))
            return whole[-1]

        network.conditional_sample = sampled
        try:
            plans = self.model.predict_action_chunk(self._remembered(states), noise=noise)
        finally:
            del scheduler.step, network.conditional_sample
        for row, first in enumerate(self._given(plans[:, 0])):
            self._plans[first.tobytes()] = whole[0][row]
        while len(self._plans) > KEPT_PLANS:
            self._plans.popitem(last=False)
        return plans

    def _remembered(self, states: list[Episode]) -> dict[str, Any]:
        """LeRobot's queues filled with what these episodes saw; the batch names what is in them."""
        names = [name for name in states[0].history if states[0].history[name]]
        self.model.reset()
        for name in names:
            moments = zip(*(state.history[name] for state in states), strict=True)
            self.model._queues[name].extend(torch.cat(moment) for moment in moments)
        return {name: self.model._queues[name][-1] for name in names}

    # --- how likely an answer is -------------------------------------------------------------------------------------

    @torch.no_grad()
    def _flow_log_prob(self, observations: list[Any], states: list[Episode], actions: list[Any]) -> list[float]:
        """Less LeRobot's own training loss of these chunks, with the same times and noise for every row."""
        chunks = torch.from_numpy(np.stack([np.asarray(action, np.float32) for action in actions])).to(self._device)
        batch = self.before({**self._batch(observations), ACTION: chunks})
        flow, total = self.model.model, torch.zeros(len(states))
        try:
            for draw in range(LOSS_DRAWS):
                self._generators = [state.generator(draw) for state in states]
                time = (draw + 0.5) / LOSS_DRAWS
                flow.sample_time = lambda rows, device, time=time: torch.full((rows,), time, device=device)
                copied = {name: value.clone() if torch.is_tensor(value) else value for name, value in batch.items()}
                total += self.model.forward(copied, reduction="none")[0].float().cpu()
        finally:
            del flow.sample_time
        return _nats(total, chunks[0].numel())

    @torch.no_grad()
    def _diffusion_log_prob(self, observations: list[Any], states: list[Episode], actions: list[Any]) -> list[float]:
        """Less the error of the denoising of the plans that these actions are the first of, where they are acted on.

        What was planned before is acted on whatever is seen: it is certain.
        """
        due = [row for row, state in enumerate(states) if not state.actions]
        found = [0.0] * len(states)
        if not due:
            return found
        firsts = [np.asarray(actions[row], np.float32).tobytes() for row in due]
        if any(first not in self._plans for first in firsts):
            raise ValueError("this diffusion policy is asked how likely an action is that it has not given lately")
        self._remember(observations, states)
        network, trajectory = self.model.diffusion, torch.stack([self._plans[first] for first in firsts])
        moments = self._remembered([states[row] for row in due])
        queues = {name: torch.stack(list(self.model._queues[name]), dim=1) for name in moments}
        seen, scheduler = network._prepare_global_conditioning(queues), network.noise_scheduler
        steps, first = scheduler.config.num_train_timesteps, self.model.config.n_obs_steps - 1
        acted_on = slice(first, first + self.model.config.n_action_steps)
        total = torch.zeros(len(due))
        for draw in range(LOSS_DRAWS):
            rows = [torch.randn(trajectory.shape[1:], generator=states[row].generator(draw)) for row in due]
            noise = torch.stack(rows).to(self._device)
            times = torch.full((len(due),), int((draw + 0.5) * steps / LOSS_DRAWS), device=self._device)
            told = network.unet(scheduler.add_noise(trajectory, noise, times), times, global_cond=seen)
            wanted = noise if self.model.config.prediction_type == "epsilon" else trajectory
            total += ((told - wanted) ** 2)[:, acted_on].mean((1, 2)).float().cpu()
        scores = _nats(total, trajectory[0, acted_on].numel())
        for row, score in zip(due, scores, strict=True):
            found[row] = score
        return found

    def _given(self, actions: Any) -> Any:
        return self.after(actions).detach().cpu().numpy()

    def _stacked_images(self, batch: dict[str, Any]) -> dict[str, Any]:
        if not self.pictures:
            return batch
        return {**batch, IMAGES: torch.stack([batch[name] for name in self.pictures.values()], dim=-4)}

    def _noise(self, shape: Any, device: Any) -> Any:
        """In place of LeRobot's own draw: a row for each episode of the batch."""
        rows = [torch.randn((1, *shape[1:]), generator=generator) for generator in self._generators]
        return torch.cat(rows).to(device)

    def _batch(self, observations: list[Any]) -> dict[str, Any]:
        """As LeRobot prepares what a robot sees: bytes to 0..1, channels first, contiguous."""
        batch: dict[str, Any] = {"task": [str(seen.get("instruction", "")) for seen in observations]}
        for camera, name in self.pictures.items():
            stacked = np.stack([np.asarray(seen["images"][camera]) for seen in observations])
            wanted = self.spec["image_sizes"].get(camera)
            if wanted is not None and list(stacked.shape[1:3]) != list(wanted):
                raise ValueError(
                    f"camera '{camera}' gives {stacked.shape[1]} x {stacked.shape[2]} pixels, the policy takes "
                    f"{wanted[0]} x {wanted[1]} pixels"
                )
            frames = self._placed(stacked)
            pictures = (frames.type(torch.float32) / 255).permute(0, 3, 1, 2).contiguous()
            batch[name] = pictures
        if self.spec["state"]:
            rows = [np.concatenate([np.ravel(value) for value in seen["state"].values()]) for seen in observations]
            batch[STATE] = self._placed(np.stack(rows).astype(np.float32))
            if batch[STATE].shape[1] != (self.spec["state_size"] or batch[STATE].shape[1]):
                raise ValueError(f"the state has {batch[STATE].shape[1]} numbers, the policy {self.spec['state_size']}")
        return batch

    def _placed(self, array: Any) -> Any:
        """On the model's device; to a GPU from pinned memory, without waiting for the copy."""
        tensor, gpu = torch.from_numpy(array), self._device.startswith("cuda")
        return (tensor.pin_memory() if gpu else tensor).to(self._device, non_blocking=gpu)


def _camera(feature: str) -> str:
    return feature.removeprefix(f"{IMAGES}.").removeprefix("observation.")


def _says_nothing(camera: str) -> bool:
    """Whether a name only counts: `image`, `image2`, `camera1`."""
    return camera.rstrip("0123456789") in ("image", "camera", "cam")


def load(folder: str) -> LeRobotPolicy:
    """The policy in a folder, on the CPU whatever it was saved on."""
    from lerobot.configs.policies import PreTrainedConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    config = PreTrainedConfig.from_pretrained(folder)
    config.device = "cpu"
    for name, value in (
        ("compile_model", False),
        ("pretrained_backbone_weights", None),
    ):  # all weights are in the folder
        if hasattr(config, name):
            setattr(config, name, value)
    model = get_policy_class(config.type).from_pretrained(folder, config=config)
    model.eval()
    cpu = {"device_processor": {"device": "cpu"}}
    before, after = make_pre_post_processors(
        config, folder, preprocessor_overrides=cpu, postprocessor_overrides={"device_processor": {"device": "cpu"}}
    )
    return LeRobotPolicy(Path(folder), model, before, after)
