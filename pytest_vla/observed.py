"""Observations one after the other: what was told before, the form of them and the prompt, is not told again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_vla.tree import Array, Layout, Skeleton, TreeError, copied, flatten, signature


class Telling:
    """The side that has them, and what the other side knows already."""

    def __init__(self) -> None:
        self._skeleton: Skeleton | None = None
        self._prompt: Any = None

    def begin(self) -> None:
        """An episode begins: its prompt is another one."""
        self._prompt = None

    def split(self, observation: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """The observation without its prompt, and that prompt if the other side does not have it."""
        prompt = observation.get("prompt")
        if prompt is None:
            return observation, None
        rest = {key: value for key, value in observation.items() if key != "prompt"}
        return rest, None if prompt is self._prompt else prompt

    def news(self, observation: Mapping[str, Any], prompt: Any) -> tuple[dict[str, Any], list[Array], Skeleton]:
        """What the other side does not know yet, the arrays to send, and the form of the observation's own."""
        news: dict[str, Any] = {}
        skeleton, arrays = flatten(observation)
        if skeleton != self._skeleton:
            news["tree"] = self._skeleton = skeleton
        if prompt is not None:
            news["prompt"], more = flatten(prompt, "observation['prompt']")
            arrays += more
            self._prompt = prompt
        return news, arrays, skeleton


class Hearing:
    """The side that gets them. `kind` is equal for observations that can be stacked."""

    def __init__(self) -> None:
        self.kind: Skeleton = ()
        self._layout: Layout | None = None
        self._prompt: Any = None

    def begin(self) -> None:
        self._prompt = None

    def observation(self, news: Mapping[str, Any], memory: Array, start: int) -> dict[str, Any]:
        """The observation whose arrays begin there, as views; raises TreeError and its kin for anything else."""
        if "tree" in news:
            layout = Layout(news["tree"])
            if not layout.is_map:
                raise TreeError("an observation must be a map")
            self._layout, self.kind = layout, signature(news["tree"])
        if "prompt" in news and self._layout is not None:
            self._prompt = copied(Layout(news["prompt"]).read(memory, self._layout.end(start)))
        return self.again(lambda layout: layout.read(memory, start))

    def again(self, read: Callable[[Layout], dict[str, Any]]) -> dict[str, Any]:
        """An observation without news, as `read` finds it."""
        if self._layout is None:
            raise TreeError("an observation came before its form")
        observation = read(self._layout)
        if self._prompt is not None:
            observation["prompt"] = self._prompt
        return observation
