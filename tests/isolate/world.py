"""A world for the tests: a point that moves, and misbehaves in the tasks that are called so."""

import hashlib
import os
import sys
import time

import numpy as np


class World:
    def __init__(self, task, size=64, cameras=2):
        self.task, self.size, self.cameras = task, size, cameras
        if task == "never_opens":
            raise RuntimeError("no such scene")

    def reset(self, seed, episode):
        self.rng = np.random.default_rng(seed)
        self.episode = episode
        self.at = self.rng.uniform(-1, 1, 3).astype(np.float32)
        self.steps = 0
        return self.observe()

    def step(self, action):
        if self.episode["index"] == 0:
            self.misbehave()
        self.steps += 1
        self.at += np.asarray(action, np.float32)
        success = bool(np.abs(self.at).max() < 0.05)
        return self.observe(), False, {"success": success}

    def misbehave(self):
        if self.task == "crashes":
            sys.stderr.write("the last words")
            sys.stderr.flush()
            os.abort()
        if self.task == "exits":
            os._exit(3)
        if self.task == "hangs":
            time.sleep(1000)
        if self.task == "raises":
            raise ValueError("a broken joint")
        if self.task == "eats":
            self.hoard = [np.ones(1 << 27, np.uint8) for _ in range(64)]
        if self.task == "prints":
            print("garbage " * 100_000)
            os.write(1, bytes(range(256)) * 100)

    def reset_batch(self, seeds, episodes):
        self.batches = getattr(self, "batches", 0) + 1
        self.lanes = [World(self.task, self.size, 0) for _ in seeds]
        seen = [lane.reset(seed, episode) for lane, seed, episode in zip(self.lanes, seeds, episodes)]  # noqa: B905
        return [
            {"observation": o, "digest": lane.digest(), "progress": lane.progress(), "features": lane.features()}
            for lane, o in zip(self.lanes, seen)  # noqa: B905
        ]

    def step_batch(self, actions):
        answers = []
        for lane, action in zip(self.lanes, actions):  # noqa: B905
            observation, terminated, info = lane.step(np.zeros(3) if action is None else action)
            facts = {"observation": observation, "terminated": terminated, "info": info}
            answers.append({**facts, "digest": lane.digest(), "progress": lane.progress()})
        return answers

    def how_many_batches(self):
        return getattr(self, "batches", 0)

    def observe(self):
        image = np.full((self.size, self.size, 3), self.steps, np.uint8)
        image[0, 0] = (1, 2, 3)
        if self.task == "draws":
            image = self.drawn
        pictures = {
            f"camera{number}": image[::-1] if number and self.task != "draws" else image
            for number in range(self.cameras)
        }
        return {"images": pictures, "state": {"at": self.at.copy()}, "instruction": f"go to the middle: {self.task}"}

    def drawn(self):
        self.drawings = getattr(self, "drawings", 0) + 1
        return np.full((self.size, self.size, 3), self.steps, np.uint8)

    def how_often_drawn(self):
        return getattr(self, "drawings", 0)

    def digest(self):
        return hashlib.sha1(self.at.tobytes()).hexdigest()

    def progress(self):
        return float(1 / (1 + np.abs(self.at).max()))

    def features(self):
        return {"x": round(float(self.at[0]), 6)}

    def oracle(self):
        return -np.clip(self.at, -0.5, 0.5)

    def said(self, *words):
        return {"words": list(words), "pid": os.getpid(), "modules": sorted(sys.modules), "path": sys.path}

    def close(self):
        pass
