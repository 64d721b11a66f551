"""Policies with the faults a server must get over, or name; copied into test projects."""

import os
import signal
import time

import numpy as np

import pytest_vla as vla


class Idle(vla.Policy):
    def act(self, observations, states):
        return [np.zeros(2) for _ in observations]


class TooLarge(Idle):
    def act(self, observations, states):
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")


class SmallMemory(Idle):
    """Two rows do not fit."""

    def act(self, observations, states):
        if len(observations) > 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        time.sleep(0.01)  # the others have to wait, and come together
        return super().act(observations, states)


class SlowStart(Idle):
    def __init__(self):
        time.sleep(3)


class SlowRestart(Idle):
    """Dies in one episode, and takes longer to come back than a step may take."""

    def __init__(self):
        time.sleep(2)

    def reset(self, episode):
        if episode.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)


class Placed(Idle):
    """An action depends on the row it is computed in."""

    def act(self, observations, states):
        return [np.full(2, 1e-9 * row) for row, _ in enumerate(observations)]


class CannotRead(Idle):
    """Raises an exception that has a `reason` of its own, which is none of an episode's."""

    def act(self, observations, states):
        b"\xff".decode()
