"""A language model as a policy: an OpenAI-compatible chat endpoint that reads the observation as text."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import numpy as np

from pytest_vla.episode import EpisodeError
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec

KEY_VARIABLE = "OPENAI_API_KEY"
MAX_REPLY = 1 << 20  # bytes
SYSTEM = (
    "You control a robot. The user gives the task and the state of the world as JSON. "
    "Answer with the next action alone: a JSON number, list of numbers, or object of such."
)
_JSON = re.compile(r"[\[{].*[\]}]|-?\d+(?:\.\d+)?", re.DOTALL)


@dataclass(frozen=True)
class Endpoint:
    """Where an OpenAI-compatible model answers. The key comes from the environment, never from the command line."""

    url: str
    model: str
    timeout: float = 60.0

    @classmethod
    def at(cls, text: str) -> tuple[Endpoint, dict[str, str]]:
        """`https://HOST/v1?model=NAME`, and what else its query says."""
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query))
        if "model" not in query:
            raise PolicyError(f"{text!r} does not say which model to ask: add ?model=NAME")
        try:
            timeout = float(query.pop("timeout", 60.0))
        except ValueError:
            raise PolicyError(f"the timeout in {text!r} must be a number of seconds") from None
        model = query.pop("model")
        return cls(urlunsplit(parts._replace(query="", fragment="")).rstrip("/"), model, timeout), query

    def answer(self, messages: Sequence[Mapping[str, str]], **sampling: float) -> str:
        """What the model says; whatever goes wrong is an EpisodeError or a PolicyError with the reason."""
        body = json.dumps({"model": self.model, "messages": list(messages), **sampling}).encode()
        headers = {"Content-Type": "application/json"}
        if os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"Bearer {os.environ[KEY_VARIABLE]}"
        request = urllib.request.Request(f"{self.url}/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                content = json.loads(reply.read(MAX_REPLY))["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            raise EpisodeError("policy_error", f"{self.url} answered {error.code}: {error.read(500)!r}") from None
        except TimeoutError:
            raise EpisodeError("timeout", f"{self.url} gave no action within {self.timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise EpisodeError("server_lost", f"{self.url}: {error}") from None
        except (ValueError, LookupError, TypeError) as error:
            raise PolicyError(f"{self.url} did not answer like a chat endpoint: {error}") from None
        return str(content)


@dataclass
class ChatPolicy(Policy):
    """Asks all rows of a batch at the same time; remembers nothing between steps."""

    endpoint: Endpoint
    parallel: int = 16
    spec: PolicySpec = PolicySpec()  # noqa: RUF009  # frozen

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        with ThreadPoolExecutor(min(self.parallel, len(observations))) as pool:
            return list(pool.map(self._try, observations))

    def _try(self, observation: Observation) -> Any:
        try:
            return self._ask(observation)
        except (EpisodeError, PolicyError) as error:
            return error

    def _ask(self, observation: Observation) -> Any:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": as_text(observation)}]
        return parse_action(self.endpoint.answer(messages, temperature=0))


def as_text(observation: Observation) -> str:
    """What can be read of an observation: the instruction and the state, not the images."""
    state = {key: np.asarray(value).round(4).tolist() for key, value in observation.get("state", {}).items()}
    return json.dumps({"task": observation.get("instruction", ""), "state": state})


def parse_action(text: str) -> Any:
    """The action in a reply that may say more than it should."""
    found = _JSON.search(text)
    try:
        value = json.loads(found.group()) if found else None
    except ValueError:
        value = None
    if value is None:
        raise PolicyError(f"there is no action in the reply {text[:200]!r}")
    try:
        if isinstance(value, Mapping):
            return {str(key): np.asarray(part, np.float64) for key, part in value.items()}
        return np.asarray(value) if isinstance(value, int) else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"the action in the reply {text[:200]!r} is not made of numbers") from None
