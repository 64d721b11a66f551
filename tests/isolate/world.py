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
        """Lanes of their own: an episode alone does not disturb them."""
        self.begun = getattr(self, "begun", 0) + 1
        lanes = getattr(self, "lanes", [None] * len(seeds))
        self.lanes = lanes if len(lanes) == len(seeds) else [None] * len(seeds)
        answers = []
        for number, (seed, episode) in enumerate(zip(seeds, episodes)):  # noqa: B905
            if seed is None:
                answers.append(None)
                continue
            lane = self.lanes[number] = World(self.task, self.size, 0)
            seen = {"observation": lane.reset(seed, episode), "digest": lane.digest()}
            answers.append({**seen, "progress": lane.progress(), "features": lane.features()})
        return answers

    def step_batch(self, actions):
        answers = []
        for lane, action in zip(self.lanes, actions):  # noqa: B905
            if action is None:
                answers.append(None)
                continue
            observation, terminated, info = lane.step(action)
            facts = {"observation": observation, "terminated": terminated, "info": info}
            answers.append({**facts, "digest": lane.digest(), "progress": lane.progress()})
        return answers

    def how_often_begun(self):
        return getattr(self, "begun", 0)

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
