"""A policy for the benchmark classes in `reaching.py`: it goes to the middle and stays."""

import numpy as np

import pytest_vla as vla


class Walk(vla.Policy):
    spec = vla.PolicySpec()

    def act(self, observations, states):
        return [np.append(np.clip(-5 * o["state"]["states"], -1, 1), 1.0).astype(np.float32) for o in observations]


def walk():
    return Walk()
