"""A language model that writes the actions after a few demonstrations: X-ICM, as `xicm:` on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.chat import Endpoint
from pytest_vla.policies.digests import folder_digest, text_digest
from pytest_vla.policies.source import SharedSource
from pytest_vla.suggest import unknown

from . import text
from .facts import CAMERAS, SUITES
from .grid import Code, decoded
from .memory import CAMERA, Memory, Outcome, outcome_of_checkpoint, outcome_of_file
from .places import places_of
from .retrieval import SELECTORS, Select
from .text import Example, Message, Parsing, Situation, messages, parsed

SCHEME = "xicm:"
SHOWN = 18
SAMPLING = {"temperature": 0.1, "top_p": 0.001, "max_tokens": 256}
PARALLEL = 16

Prompt = Callable[[Sequence[Example], Situation], list[Message]]
Answer = Callable[[list[Message]], str]


@dataclass
class Script:
    """What is remembered of an episode: the actions still to be done, and what was wrong with the model's answers."""

    episode: EpisodeKey
    actions: list[Code] = field(default_factory=list)
    calls: int = 0
    remark: str = ""


class InContextPolicy(Policy):
    """Chooses demonstrations, shows them, and does what the model answers, action by action, until it must ask again.

    Args:
        select: which demonstrations to show.
        prompt: makes the messages of them.
        llm: answers messages; what it raises ends the episode.
        memory: the demonstrations there are.
        shown: how many of them are shown.
        parsing: what becomes of an answer that is not quite a list of actions.
    """

    def __init__(
        self,
        select: Select,
        prompt: Prompt,
        llm: Answer,
        memory: Memory,
        *,
        shown: int = SHOWN,
        parsing: Parsing = "strict",
    ) -> None:
        self.select, self.prompt, self.llm, self.memory = select, prompt, llm, memory
        self.shown, self.parsing = shown, parsing
        self.spec = PolicySpec(suites=SUITES, cameras=(CAMERA,), scan=CAMERAS, trained_on=memory.tasks)

    def reset(self, episode: EpisodeKey) -> Script:
        return Script(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Script]) -> list[Any]:
        """All that have nothing left to do ask at the same time; pictures are drawn before, in this thread."""
        asking = [(self._messages(seen, script), script) for seen, script in zip(observations, states, strict=True)
                  if not script.actions]  # fmt: skip
        with ThreadPoolExecutor(PARALLEL) as pool:
            failures = dict(zip((id(script) for _, script in asking), pool.map(self._ask, asking), strict=True))
        return [failures.get(id(script)) or decoded(script.actions.pop(0)) for script in states]

    def _messages(self, observation: Observation, script: Script) -> list[Message]:
        name = f"{script.episode.task}/{script.episode.index}"
        demos = self.select(self.memory.features(name, observation), self.memory.demos, self.shown)
        query = Situation(str(observation["instruction"]), places_of(observation))
        return self.prompt([demo.example for demo in demos], query)

    def _ask(self, asked: tuple[list[Message], Script]) -> Exception | None:
        """Have the model write the script; what is in the way of that ends the episode."""
        messages, script = asked
        try:
            reply = parsed(self.llm(messages), self.parsing)
        except (EpisodeError, PolicyError) as error:
            return error
        script.calls += 1
        script.actions = list(reply.actions)
        if reply.complaint:
            script.remark = f"answer {script.calls} of the model was not used: {reply.complaint}"
        return None


def load(spec: str) -> SharedSource:
    """`xicm:http://HOST/v1?model=NAME&demos=FOLDER`, with `select`, `shown`, `parsing`, `outcome` or `features`."""
    endpoint, query = Endpoint.at(spec.removeprefix(SCHEME))
    allowed = ("demos", "select", "shown", "parsing", "outcome", "features")
    for name in query:
        if name not in allowed:
            raise PolicyError(unknown("setting", name, list(allowed), f"in {spec!r}"))
    if "demos" not in query:
        raise PolicyError(f"{spec!r} does not say which demonstrations to show: add &demos=FOLDER")
    folder, chosen = Path(query["demos"]), query.get("select", "lang_vis.out")
    if chosen not in SELECTORS:
        raise PolicyError(unknown("selection", chosen, list(SELECTORS), f"in {spec!r}"))
    policy = InContextPolicy(
        SELECTORS[chosen],
        messages,
        lambda asked: endpoint.answer(asked, **SAMPLING),
        Memory.read(folder, _outcome(query)),
        shown=_shown(query, spec),
        parsing=_parsing(query, spec),
    )
    known = (endpoint.url, endpoint.model, text.SYSTEM, *sorted(query.values()), folder_digest(folder))
    return SharedSource(
        text=spec, digest=f"xicm:{text_digest(*known)}", verified=False, spec=policy.spec, policy=policy
    )


def _outcome(query: dict[str, str]) -> Outcome | None:
    if "features" in query:
        return outcome_of_file(Path(query["features"]))
    return outcome_of_checkpoint(Path(query["outcome"])) if "outcome" in query else None


def _shown(query: dict[str, str], spec: str) -> int:
    count = query.get("shown", str(SHOWN))
    if not count.isdecimal() or int(count) < 1:
        raise PolicyError(f"shown in {spec!r} must be a whole number of 1 or more")
    return int(count)


def _parsing(query: dict[str, str], spec: str) -> Parsing:
    match query.get("parsing", "strict"):
        case "strict":
            return "strict"
        case "lenient":
            return "lenient"
        case other:
            raise PolicyError(unknown("parsing", other, ["strict", "lenient"], f"in {spec!r}"))
