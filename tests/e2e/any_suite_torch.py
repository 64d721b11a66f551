"""The same as torch modules: for checkpoints, exported graphs and LeRobot's loop."""

import torch
from any_suite import Looks, answer


class Net(torch.nn.Module, Looks):
    """A checkpoint's class."""

    def __init__(self, bias=0.0):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.tensor(bias))

    def act(self, observations, states):
        return [answer(observation) + float(self.bias.detach()) for observation in observations]


class Graph(torch.nn.Module):
    """What is exported: cameras and state in, one vector out."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, images, state):
        brightness = images.float().mean((1, 2, 3, 4)) + state.mean(1)
        return 0.5 + 0 * brightness[:, None].repeat(1, self.size)
