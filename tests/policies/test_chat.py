"""A chat endpoint on the loopback: what it is sent, how it is asked again, and that its key stays with it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pytest_vla.episode import EpisodeError
from pytest_vla.policies.chat import KEY_VARIABLE, ChatPolicy, Endpoint, called, messages_of, wait_s, without_thoughts
from pytest_vla.policies.spaces import described


class Server(ThreadingHTTPServer):
    """Answers with what it is given, one after the other, and keeps what it was asked."""

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.requests = list(replies), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((dict(self.headers), body))
        status, headers, message = self.server.replies.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"message": message}]}).encode())

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(*replies):
        servers.append(Server(replies))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


QUESTION = {
    "images": {"view": np.zeros((4, 4, 3), np.uint8)},
    "state": {},
    "instruction": "What is it?",
    "asks": "text",
    "space": "a short text",
}


def ask(server, observation):
    return ChatPolicy(Endpoint(server.url, "m", timeout=5)).act([observation], [None])[0]


def test_a_question_goes_with_its_picture_and_its_answer_comes_as_it_is(serve):
    server = serve((200, {}, {"content": "<think>hm, (1, 2)?</think>a cup"}))
    assert ask(server, QUESTION) == "a cup"
    (message,) = server.requests[0][1]["messages"]
    text, picture = message["content"]
    assert "What is it?" in text["text"]
    assert "a short text" in text["text"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_functions_are_offered_and_calls_come_as_text(serve):
    call = {"function": {"name": "mv", "arguments": '{"source": "a", "n": 2}'}}
    server = serve((200, {}, {"content": None, "tool_calls": [call, {"function": {"name": "f", "arguments": "{"}}, 7]}))
    observation = {**QUESTION, "asks": "function_call", "tools": [{"name": "mv", "parameters": ["source", "n"]}]}
    assert ask(server, observation) == "mv(source='a', n=2)\nf({)\n7"
    (tool,) = server.requests[0][1]["tools"]
    assert tool["function"]["name"] == "mv"
    assert set(tool["function"]["parameters"]["properties"]) == {"source", "n"}
    assert called({"x": 1}) == "{'x': 1}"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(serve, status):
    server = serve((status, {"Retry-After": "0"}, {}), (status, {"Retry-After": "0"}, {}), (200, {}, {"content": "1"}))
    assert ask(server, QUESTION) == "1"
    assert len(server.requests) == 3


def test_waiting_grows_and_is_bounded():
    assert [wait_s(n) for n in range(4)] == [0.5, 1, 2, 4]
    assert wait_s(30) == 30
    assert wait_s(0, "3") == 3
    assert wait_s(0, "tomorrow") == 0.5


def test_other_refusals_are_final(serve):
    server = serve((401, {}, {}), (200, {}, {"content": "1"}))
    error = ask(server, QUESTION)
    assert isinstance(error, EpisodeError)
    assert error.reason == "policy_error"
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_is_not_carried_to_another_host(serve, monkeypatch, status):
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    other = serve((200, {}, {"content": "1"}))
    server = serve((status, {"Location": f"{other.url}/chat/completions"}, {}))
    error = ask(server, QUESTION)
    assert "redirects to" in str(error)
    assert "secret" not in str(error)
    assert server.requests[0][0]["Authorization"] == "Bearer secret"
    assert other.requests == []


def test_a_robot_is_told_its_action_space():
    from gymnasium.spaces import Box, Dict, Discrete, Text

    space = Dict({"arm": Box(-1, 1, (3,)), "grip": Discrete(2), "say": Text(5)})
    words = described(space)
    assert "one JSON list of 3 numbers, each from -1 to 1" in words
    assert "one whole number from 0 to 1" in words
    system, _ = messages_of({"images": {}, "state": {}, "instruction": "go", "space": words})
    assert words in system["content"]


def test_thoughts_are_no_answer():
    assert without_thoughts("<think>a</think> b <think>c</think>d") == "b d"
    assert without_thoughts("<think>without an end") == ""
