"""Policies that break their contract, one way each; tests copy this module into their project."""

import os
import signal
import time

import numpy as np

import pytest_vla as vla


class WrongShape(vla.Policy):
    def act(self, observations, states):
        return [np.zeros(7) for _ in observations]


class Nan(vla.Policy):
    def act(self, observations, states):
        return [np.full(2, np.nan) for _ in observations]


class Raises(vla.Policy):
    def act(self, observations, states):
        raise RuntimeError("the model fell over")


class TooFew(vla.Policy):
    def act(self, observations, states):
        return []


class Hangs(vla.Policy):
    def act(self, observations, states):
        try:
            time.sleep(600)
        except Exception:
            return self.act(observations, states)


class NeedsACamera(vla.Policy):
    spec = vla.PolicySpec(cameras=("wrist",))


class KillsItsWorker(vla.Policy):
    """Dies in one episode and does nothing in the others."""

    def reset(self, episode):
        if episode.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(self, observations, states):
        return [np.zeros(2) for _ in observations]


class Slow(vla.Policy):
    def act(self, observations, states):
        time.sleep(0.05)
        return [np.zeros(2) for _ in observations]


def broken_factory():
    raise RuntimeError("no weights today")


def not_a_policy():
    return 42
