"""A policy that takes its time for every row, and for a certain instruction much of it."""

import time

import numpy as np

import pytest_vla as vla

ROW_S, MUCH_S = 0.2, 4.0


class Slow(vla.Policy):
    def act(self, observations, states):
        for each in observations:
            time.sleep(MUCH_S if each["instruction"] == "dawdle" else ROW_S)
        return [np.zeros(4, np.float32) for _ in observations]


def make():
    return Slow()
