"""Policies the tests of the server load in real server processes; how they misbehave is chosen by the observation."""

import os
import signal
import time
import zlib

import numpy as np

import pytest_vla as vla


def first(observation):
    return float(observation["state"]["x"][0])


class Echo(vla.Policy):
    """Gives back the first number of the state, the episode's index and the batch size."""

    spec = vla.PolicySpec(prompt=True)

    def reset(self, episode):
        return {"index": episode.index, "steps": 0}

    def act(self, observations, states):
        for state in states:
            state["steps"] += 1
        return [
            np.array([first(o), s["index"], s["steps"], len(observations)])
            for o, s in zip(observations, states, strict=True)
        ]


class Parts(Echo):
    """Actions of two parts, three steps of them at once."""

    spec = vla.PolicySpec(chunk=3)

    def act(self, observations, states):
        return [{"turn": np.full((3, 2), first(o)), "go": np.zeros((3, 1))} for o in observations]


class Slow(Echo):
    def act(self, observations, states):
        time.sleep(0.05)
        return super().act(observations, states)


class Threaded(Echo):
    """A model of torch that threads make slower; says how many it has."""

    def __init__(self):
        import torch

        self.torch = torch

    def act(self, observations, states):
        threads = self.torch.get_num_threads()
        time.sleep(0.002 * threads)
        return [np.array([threads]) for _ in observations]


class Moody(Echo):
    """A negative number asks for a fault."""

    def act(self, observations, states):
        faults = {first(observation) for observation in observations}
        if -1 in faults:
            raise RuntimeError("the model fell over")
        if -2 in faults:
            os.kill(os.getpid(), signal.SIGKILL)
        if -3 in faults:
            time.sleep(600)
        if -4 in faults:
            raise MemoryError("CUDA out of memory")
        return super().act(observations, states)


class SmallMemory(Echo):
    """More than two rows do not fit."""

    def act(self, observations, states):
        if len(observations) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return super().act(observations, states)


class Hoarder(vla.Policy):
    """Keeps every observation it ever saw, as a view, and answers with the sum of their first numbers."""

    def reset(self, episode):
        return []

    def act(self, observations, states):
        for observation, state in zip(observations, states, strict=True):
            state.append(observation["state"]["x"])
        return [np.array([sum(float(x[0]) for x in state)]) for state in states]


class Prompted(Echo):
    """Answers with the sum of the prompt's picture and the length of its text."""

    def act(self, observations, states):
        return [
            {"sum": np.array(o["prompt"]["pictures"][0].sum()), "letters": len(o["prompt"]["text"])}
            for o in observations
        ]


class Dies(vla.Policy):
    """Never comes up again after the first time."""

    def __init__(self):
        marker = os.environ["DIES_MARKER"]
        if os.path.exists(marker):
            os._exit(3)
        with open(marker, "w"):
            pass

    def act(self, observations, states):
        os._exit(3)


class TakesForever(vla.Policy):
    def __init__(self):
        time.sleep(600)


class CannotLoad(vla.Policy):
    def __init__(self):
        raise ValueError("the weights are for another robot")


class CrashesInLoad(vla.Policy):
    def __init__(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Checksum(vla.Policy):
    """Answers with a checksum of the first camera's image, its height and the number of the step."""

    def reset(self, episode):
        return {"step": 0}

    def act(self, observations, states):
        actions = []
        for observation, state in zip(observations, states, strict=True):
            image = next(iter(observation["images"].values()))
            state["step"] += 1
            actions.append(np.array([zlib.crc32(image.tobytes()) % 2**20, len(image), state["step"]], np.float32))
        return actions


class Plan(vla.Policy):
    """Chunks of three: the first number of the state, and how far into the chunk."""

    spec = vla.PolicySpec(chunk=3)

    def act(self, observations, states):
        return [np.array([[o["state"]["states"][0], i] for i in range(3)], np.float32) for o in observations]


class Weighted(Echo):
    def digest(self):
        return os.environ["WEIGHT"]


class Needy(Echo):
    """Declares a camera."""

    spec = vla.PolicySpec(cameras=("front",))
