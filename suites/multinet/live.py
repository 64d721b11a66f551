"""Games and conversations that are really played, in interpreters of their own; answers are read here first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_vla.answers.answer import FIELD, Answer, kept
from pytest_vla.answers.forms import CALL, DISCRETE, form_of
from pytest_vla.isolate.env import IsolatedEnv
from pytest_vla.isolate.environment import environment, installed, python_of
from pytest_vla.isolate.install import clean_variables
from pytest_vla.isolate.process import Child, Launch
from pytest_vla.policies.base import Policy
from pytest_vla.suite import SuiteError, provided

from . import prompts
from .domains import DOMAIN_OF, GAME_STEPS, LIVE_BFCL, REPLAY
from .env import asking
from .judge import INVALID_OUTPUT, as_text
from .parse import Ask, lenient, strict, without_thoughts
from .sample import Rows, Sample, Words
from .samples import overcooked_sample
from .scoring import JOINT_ACTIONS

WORLDS = Path(__file__).parent / "worlds"
STEP_S = 0.15  # of a game
CONVERSATIONS = 200  # of a category

Step = tuple[Any, float, bool, bool, dict[str, Any]]


def environment_of(task: str) -> str:
    """The environment that a live task runs in."""
    return "multinet_bfcl" if task in LIVE_BFCL else "multinet_overcooked"


def not_installed(task: str) -> str | None:
    """The command that is missing before a live task can be run."""
    declared = environment(environment_of(task))
    receipt = installed(declared.name)
    if receipt is None or receipt.fingerprint != declared.fingerprint:
        return f"{task} needs the environment '{declared.name}': {declared.command}"
    return None


def launch(task: str) -> Launch:
    declared = environment(environment_of(task))
    problem = not_installed(task)
    if problem:
        raise SuiteError(problem)
    world = WORLDS / ("bfcl.py" if task in LIVE_BFCL else "overcooked.py")
    variables = clean_variables(dict(declared.variables))
    return Launch(python_of(declared.folder), world, variables, provided().memory_gb)


class GameEnv(IsolatedEnv):
    """A game of Overcooked: an answer is what both players do next. It is solved where a soup was served in time."""

    def __init__(self, task: str) -> None:
        from gymnasium.spaces import Discrete

        options = {"layout": task.removeprefix("overcooked_"), "horizon": GAME_STEPS}
        super().__init__(lambda: launch(task), lambda _: options, Discrete(JOINT_ACTIONS))
        self.task, self.score = task, 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.score = 0.0
        observation, info = super().reset(seed=seed, options=options)
        return self._told(observation), info

    def step(self, action: Any) -> Step:
        reading = strict(action, Ask(DISCRETE, JOINT_ACTIONS))
        if reading.reason:
            return {"images": {}, "state": {}, "instruction": ""}, 0.0, True, False, _refused(reading.reason)
        number = int(reading.value.argmax()) if hasattr(reading.value, "argmax") else int(reading.value)
        observation, reward, over, cut, info = super().step(number)
        self.score = float(info["score"])
        soups = {"game": {"score": self.score}}
        return self._told(observation), reward, over, cut, {"success": info["success"], "kept": soups}

    def _told(self, observation: dict[str, Any]) -> dict[str, Any]:
        left, gone = self.call("clock")
        layout = self.task.removeprefix("overcooked_")
        text = prompts.overcooked(layout, STEP_S * left, STEP_S * gone)
        return {**observation, "instruction": text, **asking(DISCRETE, {})}


class ConversationEnv(IsolatedEnv):
    """A conversation of BFCL: an answer is the calls of a turn. BFCL carries them out and says whether all was done."""

    def __init__(self, task: str) -> None:
        words = Words(("[]",), "calls such as name(key='value'), one a line, [] where none is needed, and nothing else")
        super().__init__(lambda: launch(task), lambda _: {"category": task.removeprefix("bfcl_")}, words)
        self.task = task

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        self.answers: list[str] = []
        self._names = tuple(self.call("functions"))
        return self._told(observation), info

    def step(self, action: Any) -> Step:
        self.answers.append(as_text(action))
        ask = Ask(CALL, functions=self._names)
        reading = strict(action, ask)
        if reading.reason:
            kept_answer = self._answer(reading.reason, lenient(action, ask).reason, False)
            info = {**_refused(reading.reason), "kept": kept_answer}
            return {"images": {}, "state": {}, "instruction": ""}, 0.0, True, False, info
        observation, reward, over, cut, info = super().step(list(reading.value))
        told = {"success": info["success"]}
        if over:
            told["kept"] = self._answer("", "", bool(info["success"]))
        return self._told(observation), reward, over, cut, told

    def right_answer(self) -> list[str] | str:
        return list(self.call("oracle")) or "[]"

    def _told(self, observation: dict[str, Any]) -> dict[str, Any]:
        turn = self.call("turn")
        text = prompts.bfcl(turn["message"], list(turn["functions"]), turn["functions"])
        said = f"{text} Answer [] where nothing is to be called."
        return {**observation, "instruction": said, **asking(CALL, turn["functions"])}

    def _answer(self, invalid: str, unread: str, right: bool) -> dict[str, Any]:
        raw = "\n".join(self.answers)
        text, sha = kept(raw)
        domain = DOMAIN_OF[self.task]
        answer = Answer(
            asked=CALL,
            produced=form_of(without_thoughts(raw)),
            raw=text,
            sha=sha,
            invalid=invalid,
            unread=unread,
            strict=float(right),
            lenient=float(right),
            group=self.task,
            regime=domain.regime,
            trivial=0.0,
            needs=domain.needs,
        )
        return {FIELD: answer.to_record()}


class LiveOracle(Policy):
    """What the world itself would do: two greedy players, or the reference's calls."""

    def __init__(self, env: GameEnv | ConversationEnv) -> None:
        self.env = env

    def act(self, observations: Any, states: Any) -> list[Any]:
        if isinstance(self.env, ConversationEnv):
            return [self.env.right_answer() for _ in observations]
        return [int(self.env.call("oracle")) for _ in observations]


def live_env(task: str) -> GameEnv | ConversationEnv:
    return ConversationEnv(task) if task in LIVE_BFCL else GameEnv(task)


def human_games() -> Rows:
    """Steps that people played, from the package that the user installed; nothing of it is kept anywhere else."""
    child = Child(launch(REPLAY))
    child.ask("open", REPLAY, {"layout": "", "horizon": GAME_STEPS})
    rows = child.ask("call", "trials", [])["value"]

    def make(row: Any, number: int) -> Sample:
        def draw() -> Any:
            return child.ask("call", "picture", [number])["value"]

        return overcooked_sample(row, number, draw)

    return Rows(rows, make, size=JOINT_ACTIONS)


def _refused(reason: str) -> dict[str, Any]:
    return {"success": False, "failure": INVALID_OUTPUT, "message": reason.replace("_", " ")}
