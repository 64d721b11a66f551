"""A language model as a policy: an OpenAI-compatible chat endpoint that reads, sees pictures and calls functions."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import re
import time
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
TRIES = 5
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
BUSY = (429, 500, 502, 503, 504)  # answers after which the same request may succeed
SYSTEM = (
    "You control a robot. The user gives the task and the state of the world as JSON. "
    "Answer with the next action alone: {space}."
)
ANY_ACTION = "a JSON number, list of numbers, or object of such"
_JSON = re.compile(r"[\[{].*[\]}]|-?\d+(?:\.\d+)?", re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key along to another host: it is refused, and the person types the new address."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


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

    def answer(self, messages: Sequence[Mapping[str, Any]], **sampling: float) -> str:
        """What the model says; whatever goes wrong is an EpisodeError or a PolicyError with the reason."""
        return str(self.reply(messages, **sampling).get("content"))

    def reply(self, messages: Sequence[Mapping[str, Any]], tools: Any = (), **sampling: float) -> Any:
        """The model's message, which may call functions. One that is busy is asked again, later and later."""
        body = {
            "model": self.model,
            "messages": list(messages),
            **({"tools": list(tools)} if tools else {}),
            **sampling,
        }
        headers = {"Content-Type": "application/json"}
        if os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"Bearer {os.environ[KEY_VARIABLE]}"
        request = urllib.request.Request(f"{self.url}/chat/completions", json.dumps(body).encode(), headers)
        for attempt in range(TRIES):
            try:
                return self._asked(request)
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or attempt == TRIES - 1:
                    raise EpisodeError("policy_error", self._told(error)) from None
                time.sleep(wait_s(attempt, error.headers.get("Retry-After")))
        raise AssertionError("unreachable")

    def _asked(self, request: urllib.request.Request) -> Any:
        try:
            with _opener.open(request, timeout=self.timeout) as reply:
                message = json.loads(reply.read(MAX_REPLY))["choices"][0]["message"]
        except urllib.error.HTTPError:
            raise
        except TimeoutError:
            raise EpisodeError("timeout", f"{self.url} gave no action within {self.timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise EpisodeError("server_lost", f"{self.url}: {error}") from None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise PolicyError(f"{self.url} did not answer like a chat endpoint: {error}") from None
        if not isinstance(message, Mapping):
            raise PolicyError(f"{self.url} did not answer like a chat endpoint: {str(message)[:200]!r}")
        return message

    def _told(self, error: urllib.error.HTTPError) -> str:
        if error.code in (301, 302, 303, 307, 308):
            where = error.headers.get("Location", "another address")
            return f"{self.url} redirects to {where}: give that address, since the key is not passed on"
        return f"{self.url} answered {error.code}: {error.read(500)!r}"


def wait_s(attempt: int, asked: str | None = None) -> float:
    """How long to wait before the next try: as long as the server asks for, or twice as long as the last time."""
    try:
        wanted = float(asked) if asked else FIRST_WAIT_S * 2**attempt
    except ValueError:
        wanted = FIRST_WAIT_S * 2**attempt
    return min(max(wanted, 0.0), LONGEST_WAIT_S)


@dataclass
class ChatPolicy(Policy):
    """Asks all rows of a batch at the same time; remembers nothing between steps.

    Where a suite asks questions the reply is passed on as it is: reading it is what is measured.
    """

    endpoint: Endpoint
    images: bool | None = None
    """Whether it is shown pictures; None: with questions, and not at every step of a robot."""
    parallel: int = 16
    spec: PolicySpec = PolicySpec(space=True)  # noqa: RUF009  # frozen

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        with ThreadPoolExecutor(min(self.parallel, len(observations))) as pool:
            return list(pool.map(self._try, observations))

    def _try(self, observation: Observation) -> Any:
        try:
            return self._ask(observation)
        except (EpisodeError, PolicyError) as error:
            return error

    def _ask(self, observation: Observation) -> Any:
        shown = bool(observation.get("asks")) if self.images is None else self.images
        seen = observation if shown else {**observation, "images": {}}
        message = self.endpoint.reply(messages_of(seen), tools_of(observation), temperature=0)
        if message.get("tool_calls"):
            return called(message["tool_calls"])
        text = without_thoughts(str(message.get("content") or ""))
        return text if observation.get("asks") else parse_action(text)


def messages_of(observation: Observation) -> list[dict[str, Any]]:
    """What a model is told: a question with its pictures, or a robot's task and state."""
    space = str(observation.get("space") or ANY_ACTION)
    pictures = [_picture(image) for image in dict(observation.get("images", {})).values()]
    if observation.get("asks"):
        text = f"{observation['instruction']}\nYour answer is {space}."
        return [{"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}]
    said: Any = as_text(observation)
    return [
        {"role": "system", "content": SYSTEM.replace("{space}", space)},
        {"role": "user", "content": [{"type": "text", "text": said}, *pictures] if pictures else said},
    ]


def tools_of(observation: Observation) -> list[dict[str, Any]]:
    """The functions of an observation as a model is offered them; what its parameters are is not known."""
    return [
        {
            "type": "function",
            "function": {
                "name": str(tool["name"]),
                "parameters": {"type": "object", "properties": {str(name): {} for name in tool["parameters"]}},
            },
        }
        for tool in observation.get("tools") or ()
    ]


def called(calls: Any) -> str:
    """Calls as text, one a line; what cannot be read stays as it came, for the suite to refuse."""
    lines = []
    for call in calls if isinstance(calls, list) else [calls]:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            lines.append(str(call))
            continue
        given = function.get("arguments")
        try:
            arguments = json.loads(given) if isinstance(given, str) else dict(given or {})
            said = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        except (ValueError, TypeError, AttributeError, RecursionError):
            said = str(given)
        lines.append(f"{function.get('name')}({said})")
    return "\n".join(lines)


def without_thoughts(text: str) -> str:
    """The answer without what a model thinks before it."""
    return _THOUGHT.sub("", text).strip() if "<think>" in text else text


def as_text(observation: Observation) -> str:
    """What can be read of an observation: the instruction and the state."""
    state = {key: np.asarray(value).round(4).tolist() for key, value in observation.get("state", {}).items()}
    return json.dumps({"task": observation.get("instruction", ""), "state": state})


def _picture(image: Any) -> dict[str, Any]:
    try:
        from PIL import Image
    except ImportError:
        raise PolicyError('a model that sees pictures needs pillow: pip install "pytest-vla[remote]"') from None
    file = io.BytesIO()
    Image.fromarray(np.asarray(image, np.uint8)).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def parse_action(text: str) -> Any:
    """The action in a reply that may say more than it should."""
    found = _JSON.search(text)
    try:
        value = json.loads(found.group()) if found else None
    except (ValueError, RecursionError):
        value = None
    if value is None:
        raise PolicyError(f"there is no action in the reply {text[:200]!r}")
    try:
        if isinstance(value, Mapping):
            return {str(key): np.asarray(part, np.float64) for key, part in value.items()}
        return np.asarray(value) if isinstance(value, int) else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"the action in the reply {text[:200]!r} is not made of numbers") from None
