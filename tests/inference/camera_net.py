"""A torch policy with weights, noise of its own per episode, and memory; copied into test projects."""

import numpy as np
import torch

import pytest_vla as vla


class Net(torch.nn.Module, vla.Policy):
    spec = vla.PolicySpec(cameras=("front",), state_keys=("at",))

    def __init__(self, width=8):
        super().__init__()
        self.see = torch.nn.Sequential(
            torch.nn.Conv2d(3, width, 5, 2), torch.nn.ReLU(), torch.nn.Conv2d(width, width, 3, 2), torch.nn.Flatten()
        )
        self.attend = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.head = torch.nn.Linear(36 * width + 2, 2)
        self.width = width

    def reset(self, episode):
        return {"rng": episode.rng("policy"), "last": np.zeros(2, np.float32)}

    def act(self, observations, states):
        images = torch.from_numpy(np.stack([o["images"]["front"] for o in observations])).permute(0, 3, 1, 2) / 255
        seen = self.see(images).reshape(len(observations), -1, self.width)
        seen = self.attend(seen, seen, seen)[0].flatten(1)
        at = torch.from_numpy(np.stack([o["state"]["at"] for o in observations]))
        outputs = self.head(torch.cat([seen, at], 1)).tanh().numpy()
        actions = []
        for output, state in zip(outputs, states, strict=True):
            state["last"] = 0.5 * state["last"] + output + 0.1 * state["rng"].standard_normal(2).astype(np.float32)
            actions.append(np.clip(state["last"], -1, 1))
        return actions


class Chunks(Net):
    spec = vla.PolicySpec(cameras=("front",), state_keys=("at",), chunk=4, horizon=2, ensemble="mean")

    def act(self, observations, states):
        return [np.stack([action, action / 2, action / 4, action / 8]) for action in super().act(observations, states)]


def save(path="net.pt", kind=Net):
    from pytest_vla.policies.checkpoint import save_checkpoint

    torch.manual_seed(0)
    save_checkpoint(path, kind(width=8), {"width": 8})


if __name__ == "__main__":
    import camera_net

    camera_net.save()
    camera_net.save("chunks.pt", camera_net.Chunks)
