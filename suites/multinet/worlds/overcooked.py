"""Overcooked itself: games of two players, and games that people played. It runs in `multinet_overcooked`."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import sys
import tempfile
import types
from typing import Any

import numpy as np

# What only a notebook needs is not installed: the package asks for it before anything is drawn.
for _module, _names in (("IPython", ()), ("IPython.display", ("Image", "display")), ("ipywidgets", ("IntSlider",))):
    if _module not in sys.modules:
        sys.modules[_module] = types.ModuleType(_module)
        for _name in (*_names, "interactive"):
            setattr(sys.modules[_module], _name, None)

import overcooked_ai_py  # noqa: E402
import pygame  # noqa: E402
from overcooked_ai_py.agents.agent import AgentPair, GreedyHumanModel  # noqa: E402
from overcooked_ai_py.mdp.actions import Action  # noqa: E402
from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv  # noqa: E402
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld, OvercookedState, PlayerState, SoupState  # noqa: E402
from overcooked_ai_py.planning import planners  # noqa: E402
from overcooked_ai_py.visualization.state_visualizer import StateVisualizer  # noqa: E402

planners.PLANNERS_DIR = tempfile.mkdtemp()  # plans are kept per process: two at once would write one file
SINGLE = len(Action.ALL_ACTIONS)
OLD_NAMES = {"random0": "forced_coordination", "random3": "counter_circuit_o_1order"}
TRIALS = os.path.join(os.path.dirname(overcooked_ai_py.__file__), "data", "human_data", "clean_test_trials.pickle")


class World:
    """A layout, in which both players do as they are told; or, without one, the games of people."""

    def __init__(self, task: str, layout: str, horizon: int) -> None:
        self.layout, self.horizon = layout, horizon
        self.score = 0.0
        self.pair: Any = None
        self.manager: Any = None
        if layout:
            self.mdp = OvercookedGridworld.from_layout_name(layout)
            self.env = OvercookedEnv.from_mdp(self.mdp, horizon=horizon, info_level=0)

    # --- games -------------------------------------------------------------------------------------------------------

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self.env.reset()
        self.score, self.pair = 0.0, None
        return self._observe()

    def step(self, action: int) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        first, second = divmod(int(action), SINGLE)
        _, reward, done, _ = self.env.step((Action.ALL_ACTIONS[first], Action.ALL_ACTIONS[second]))
        self.score += float(reward)
        return self._observe(), bool(done), {"success": bool(done and self.score > 0), "score": self.score}

    def oracle(self) -> int:
        """What two greedy players do next, each planning for itself."""
        if self.pair is None:
            if self.manager is None:
                self.manager = planners.MediumLevelActionManager(self.mdp, planners.NO_COUNTERS_PARAMS)
            self.pair = AgentPair(GreedyHumanModel(self.manager), GreedyHumanModel(self.manager))
            self.pair.set_mdp(self.mdp)
        chosen = [Action.ALL_ACTIONS.index(action) for action, _ in self.pair.joint_action(self.env.state)]
        return int(SINGLE * chosen[0] + chosen[1])

    def clock(self) -> list[int]:
        """Steps that are left, and that are gone."""
        return [self.horizon - self.env.state.timestep, self.env.state.timestep]

    def digest(self) -> str:
        if not self.layout:
            return ""
        text = json.dumps(self.env.state.to_dict(), sort_keys=True, default=str)
        return hashlib.blake2b(f"{text}{self.score}".encode(), digest_size=16).hexdigest()

    def features(self) -> dict[str, Any]:
        return {"layout": self.layout}

    def _observe(self) -> dict[str, Any]:
        state = self.env.state
        return {"images": {"view": lambda: drawn(state, self.mdp.terrain_mtx)}, "state": {}, "instruction": ""}

    # --- games that people played ------------------------------------------------------------------------------------

    def trials(self) -> list[dict[str, Any]]:
        """The rows of the package's own file, without their states."""
        self._frame = self._read()
        names = ("joint_action", "layout_name", "time_left", "time_elapsed", "workerid_num", "run")
        rows = self._frame[list(names)].to_dict("records")
        return [
            {
                **{name: str(row[name]) for name in names[:1]},
                "layout_name": OLD_NAMES.get(str(row["layout_name"]), str(row["layout_name"])),
                "time_left": float(row["time_left"]),
                "time_elapsed": float(row["time_elapsed"]),
                "trial_id": f"{row['workerid_num']}-{row['layout_name']}-{row['run']}",
            }
            for row in rows
        ]

    def picture(self, number: int) -> Any:
        """The state of a row, as the game would have drawn it."""
        row = self._frame.iloc[number]
        name = str(row["layout_name"])
        mdp = OvercookedGridworld.from_layout_name(OLD_NAMES.get(name, name))
        return drawn(state_of(ast.literal_eval(row["state"])), mdp.terrain_mtx)

    def pose_errors(self, stop: int) -> int:
        """Of so many recorded steps, how many lead to other poses than were recorded when the game plays them."""
        wrong = 0
        frame = self._read().iloc[:stop]
        for _, row in frame.iterrows():
            name = str(row["layout_name"])
            mdp = _mdp(OLD_NAMES.get(name, name))
            actions = [_action(one) for one in ast.literal_eval(row["joint_action"])]
            after, _ = mdp.get_state_transition(state_of(ast.literal_eval(row["state"])), actions)
            wanted = ast.literal_eval(row["next_state"])["players"]
            poses = [(list(player.position), list(player.orientation)) for player in after.players]
            wrong += poses != [(list(player["position"]), list(player["orientation"])) for player in wanted]
        return wrong

    def _read(self) -> Any:
        import pandas

        return pandas.read_pickle(TRIALS)

    def close(self) -> None:
        pygame.quit()


_mdps: dict[str, Any] = {}


def _mdp(layout: str) -> Any:
    if layout not in _mdps:
        _mdps[layout] = OvercookedGridworld.from_layout_name(layout)
    return _mdps[layout]


def _action(value: Any) -> Any:
    return Action.INTERACT if isinstance(value, str) else tuple(value)


def state_of(old: dict[str, Any]) -> Any:
    """A state as the older game wrote it: a soup had its ingredient, their number, and how long it has cooked."""

    def thing(data: dict[str, Any]) -> Any:
        from overcooked_ai_py.mdp.overcooked_mdp import ObjectState

        place = tuple(data["position"])
        if data["name"] != "soup":
            return ObjectState(data["name"], place)
        kind, count, ticks = data["state"]
        soup = SoupState.get_soup(
            place, num_onions=count if kind == "onion" else 0, num_tomatoes=count if kind != "onion" else 0
        )
        if count == 3 and ticks > 0:
            soup._cooking_tick = min(int(ticks), 20)
        return soup

    players = [
        PlayerState(
            tuple(one["position"]),
            tuple(one["orientation"]),
            held_object=thing(one["held_object"]) if one.get("held_object") else None,
        )
        for one in old["players"]
    ]
    things = old["objects"].values() if isinstance(old["objects"], dict) else old["objects"]
    objects = {tuple(one["position"]): thing(one) for one in things}
    return OvercookedState(players, objects, bonus_orders=[], all_orders=[{"ingredients": ["onion"] * 3}])


def drawn(state: Any, grid: Any) -> Any:
    surface = StateVisualizer().render_state(state, grid=grid)
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).transpose(1, 0, 2))
