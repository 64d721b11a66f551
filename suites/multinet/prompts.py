"""How a row of each data set is put to a policy: the same words for every policy, whoever made the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ACTIONS = ("NORTH", "SOUTH", "EAST", "WEST", "STAY", "INTERACT")


def openx(task: str, instruction: str, dimensions: int) -> str:
    robot = task.removeprefix("openx_").replace("_", " ")
    return (
        f"{instruction}\nThe picture shows what a {robot} robot sees. Give its next action as one list of {dimensions} "
        "numbers in square brackets, and nothing else."
    )


def overcooked(layout: str, time_left: float, time_elapsed: float) -> str:
    table = ", ".join(f"{n} {name}" for n, name in enumerate(ACTIONS))
    return (
        f"Two cooks share the kitchen '{layout}'; {time_left:.1f} s are left, {time_elapsed:.1f} s are gone. Each does "
        f"one of: {table}. Say what both do next, as the one number 6 * first + second, from 0 to 35, and nothing else."
    )


def piqa(goal: str, first: str, second: str) -> str:
    return (
        f"Goal: {goal}\nSolution 0: {first}\nSolution 1: {second}\n"
        "Which solution is better? Answer with 0 or 1, and nothing else."
    )


def sqa3d(situation: str, question: str) -> str:
    before = f"Situation: {situation}\n" if situation else ""
    return f"{before}Question: {question}\nAnswer in one word."


def robovqa(text: str) -> str:
    """What stands before the first `Q:` is context; without one all is the question."""
    context, mark, question = text.partition("Q:")
    if not mark:
        asked = text.strip()
    elif context.strip():
        asked = f"Task and context: {context.strip()}\nQuestion: {question.strip()}"
    else:
        asked = f"Question: {question.strip()}"
    return f"{asked}\nAnswer with yes or no, or with a short action, and nothing else."


def odinw(subset: str, names: Sequence[str]) -> str:
    options = "\n".join(f"Option {n}: {name}" for n, name in enumerate(names))
    return (
        f"What does the picture of {subset} show?\n{options}\n"
        f"Answer with the number of the option, 0 to {len(names) - 1}, and nothing else."
    )


def bfcl(message: str, functions: Sequence[str], signatures: Mapping[str, Sequence[str]]) -> str:
    known = ", ".join(f"{name}({', '.join(signatures.get(name, ['...']))})" for name in functions)
    return (
        f"{message}\nFunctions: {known}.\nAnswer with the calls that do it, in order, one a line, such as "
        "name(key='value'), and nothing else."
    )
