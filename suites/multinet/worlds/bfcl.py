"""Conversations whose calls are carried out by BFCL's own functions and checked by its own checker.

It runs in `multinet_bfcl`, within limits: BFCL hands texts to `eval`, so only calls of known names with literal
arguments get there, and the process may neither write files nor start others.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import resource
from typing import Any

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

DATA = os.path.join(os.path.dirname(bfcl_eval.__file__), "data")
CPU_S, MEMORY, FILE_SIZE = 3600, 4 << 30, 0
_checks = 0  # every check has objects of its own: BFCL keeps them by name, and would use them again


class World:
    """The conversations of one category."""

    def __init__(self, task: str, category: str) -> None:
        _limit()
        self.category = category
        self.rows = _lines(os.path.join(DATA, f"BFCL_v4_{category}.json"))
        answers = _lines(os.path.join(DATA, "possible_answer", f"BFCL_v4_{category}.json"))
        self.answers = {row["id"]: row["ground_truth"] for row in answers}
        self.docs = {
            name: {doc["name"]: doc for doc in _lines(os.path.join(DATA, "multi_turn_func_doc", file))}
            for name, file in MULTI_TURN_FUNC_DOC_FILE_MAPPING.items()
        }

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        self.row = self.rows[int(episode["index"])]
        self.reference = self.answers[self.row["id"]]
        self.given: list[list[str]] = []
        return self._observe()

    def step(self, calls: list[str]) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.given.append([call for call in calls if is_call(call, set(self.functions()))])
        if len(self.given) < len(self.reference):
            return self._observe(), False, {"success": False}
        verdict = self._checked()
        return self._observe(), True, {"success": bool(verdict["valid"]), "why": str(verdict.get("error_type", ""))}

    def turn(self) -> dict[str, Any]:
        """What the user says now, and the functions that there are: those that were held back come with their turn."""
        number = min(len(self.given), len(self.reference) - 1)
        said = [message["content"] for message in self.row["question"][number] if message.get("role") == "user"]
        held = {name for turn, names in self._missed().items() if int(turn) > number for name in names}
        come = self._missed().get(str(number), [])
        text = said[-1] if said else f"Now there is also {', '.join(come)}. Please go on with what was asked before."
        functions = {name: names for name, names in self.functions().items() if name not in held}
        return {"message": text, "functions": functions, "turns": len(self.reference)}

    def functions(self) -> dict[str, list[str]]:
        """Every function of the classes involved, with its parameters."""
        return {
            name: list(doc["parameters"]["properties"])
            for kind in self.row["involved_classes"]
            for name, doc in self.docs[kind].items()
        }

    def oracle(self) -> list[str]:
        return list(self.reference[min(len(self.given), len(self.reference) - 1)])

    def digest(self) -> str:
        text = json.dumps([self.row["id"], self.given])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def features(self) -> dict[str, Any]:
        return {"sample": self.row["id"], "turns": len(self.reference)}

    def _missed(self) -> dict[str, list[str]]:
        return dict(self.row.get("missed_function") or {})

    def _observe(self) -> dict[str, Any]:
        return {"images": {}, "state": {}, "instruction": ""}

    def _checked(self) -> dict[str, Any]:
        """BFCL's own verdict, on objects that no other check has seen."""
        global _checks
        _checks += 1
        decoded = [[turn] if turn else [] for turn in self.given]
        try:
            return dict(
                multi_turn_checker(decoded, self.reference, self.row, self.category, f"check_{os.getpid()}_{_checks}")
            )
        finally:
            for name in [name for name in vars(multi_turn_utils) if name.endswith("_instance")]:
                delattr(multi_turn_utils, name)


def is_call(text: str, names: set[str]) -> bool:
    """Whether a text is one call of one of these names, with literal arguments and nothing else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in names:
            return False
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            ast.literal_eval(argument)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return False
    return all(keyword.arg for keyword in node.keywords)


def _lines(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, hard))
