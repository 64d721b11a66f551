"""The worker's side: a policy object that asks the server, so that simulators need no model and no torch."""

from __future__ import annotations

import select
import socket
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from pytest_vla.deadline import sign_of_life
from pytest_vla.drawing import drawing
from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.inference.channel import (
    FAILURE,
    HELLO,
    PATIENCE,
    REPLY,
    REQUEST,
    RETAINED,
    Bells,
    ChannelClosed,
    ChannelError,
    Inbox,
    Message,
    Outbox,
    greeting,
    receive,
)
from pytest_vla.inference.probes import rows_in
from pytest_vla.inference.threads import give_way
from pytest_vla.observed import Telling
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.tree import Layout, TreeError, copied

SOON_S = 0.05  # a server that has not said hello by then computes, or is away


@dataclass
class RemoteEpisode:
    """The client's part of an episode's state; the policy's own part is in the server."""

    key: EpisodeKey
    lane: Lane
    is_new: bool = True
    timings: dict[str, float] = field(default_factory=lambda: {"queue": 0.0, "compute": 0.0, "transport": 0.0})


class InferenceClient(Policy):
    """Asks one of the servers at `addresses`; every episode that runs at the same time has a connection of its own.

    The first is asked first; another when that one is busy with somebody else, or gone. `limit` is the number of
    seconds an answer may take (0: any); a what-if question of many rows may take it for each.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        spec: PolicySpec,
        limit: float = 0.0,
        make_lane: Callable[[], Lane] | None = None,
    ) -> None:
        self.spec = spec
        self._make_lane = make_lane or (lambda: Lane(addresses, limit))
        self._idle: list[Lane] = []

    def reset(self, episode: EpisodeKey) -> RemoteEpisode:
        lane = self._idle.pop() if self._idle else self._make_lane()
        state = RemoteEpisode(episode, lane)
        weakref.finalize(state, self._idle.append, lane).atexit = False
        return state

    def act(self, observations: Sequence[Observation], states: Sequence[RemoteEpisode]) -> list[Any]:
        for observation, state in zip(observations, states, strict=True):
            state.lane.ask(state, observation)
        answers = [state.lane.answer(state) for state in states]
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def close(self) -> None:
        for lane in self._idle:
            lane.drop()


class Lane:
    """One connection and its two arenas. Whatever interrupts a request also ends the connection: a late reply can
    never be taken for the answer to a later observation."""

    def __init__(self, addresses: Sequence[str], limit: float) -> None:
        self._addresses = addresses
        self._limit = self._allowed = limit
        self._sock: socket.socket | None = None
        self._bells: Bells | None = None
        self._number = 0
        self._asked = 0.0

    def ask(self, state: RemoteEpisode, observation: Observation) -> None:
        """Write the observation to shared memory and wake the server."""
        if state.is_new:
            self._connect()
        elif self._sock is None:
            raise EpisodeError("server_lost", "the inference server was lost earlier in this episode")
        assert self._sock is not None
        self._allowed = self._limit * rows_in(observation)
        if self._bells is None:
            self._sock.settimeout(self._allowed or None)
        self._number = (self._number + 1) % 2**32
        self._asked, drawn = monotonic(), drawing.seconds
        try:
            message = Message(REQUEST, number=self._number)
            self._write(state, observation, message)
            self._asked += drawing.seconds - drawn  # what is drawn for a request is no transport
            message.sent = monotonic()
            if self._bells is None:
                self._outbox.send(self._sock, message)
            elif self._outbox.post(self._sock, message):
                self._bells.ring()
        except ChannelClosed:
            self.drop()
            raise EpisodeError("server_lost", "the inference server ended during this episode") from None
        except BaseException:
            self.drop()
            raise
        state.is_new = False

    def answer(self, state: RemoteEpisode) -> Any:
        """The action, or the exception that stands for it."""
        assert self._sock is not None
        try:
            return self._read(state, *self._receive(self._sock))
        except TimeoutError:
            self.drop()
            return EpisodeError("timeout", f"the policy gave no action within {self._allowed:g} s")
        except ChannelClosed:
            self.drop()
            return EpisodeError("server_lost", "the inference server ended while it had to answer this episode")
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        if self._bells is not None:
            self._bells.close()
            self._bells = None

    def _connect(self) -> None:
        """Be connected to a server that is up. While it starts or restarts the connection waits in line."""
        if self._sock is not None and not is_closed(self._sock):
            return
        self.drop()
        sock, bells = _welcomed(self._addresses)
        give_way()
        if bells is not None:
            self._bells = Bells(bells, sock)
            sock.setblocking(False)  # the bell rings after the reply was sent
        self._sock = sock
        self._inbox, self._outbox = Inbox(), Outbox()
        self._telling = Telling()
        self._action: Layout | None = None

    def _write(self, state: RemoteEpisode, observation: Observation, message: Message) -> None:
        """The arrays of this step, and what else the server does not know yet."""
        if state.is_new:
            self._telling.begin()
        rest, prompt = self._telling.split(observation)
        if not state.is_new and prompt is None and self._outbox.refill(message, rest):
            return
        try:
            news, arrays, skeleton = self._telling.news(rest, prompt)
        except TreeError as error:
            raise EpisodeError("env_error", str(error)) from None
        if state.is_new:
            news["episode"] = asdict(state.key)
        self._outbox.put(message, news or None, arrays, None if news else skeleton)

    def _receive(self, sock: socket.socket) -> tuple[Message, int | None]:
        while True:
            if self._bells is not None:
                self._bells.wait(self._allowed)
                posted = self._inbox.posted(self._number)
                if posted is not None:
                    return posted, None
            with suppress(BlockingIOError):
                message, fd = receive(sock)
                while message.kind == PATIENCE:
                    sign_of_life()
                    message, fd = receive(sock)
                return message, fd

    def _read(self, state: RemoteEpisode, message: Message, fd: int | None) -> Any:
        if fd is not None:
            self._inbox.attach(fd)
        if message.number != self._number or message.kind not in (REPLY, FAILURE):
            raise ChannelError(f"reply {message.number} to request {self._number}")
        if message.flags & RETAINED:
            self._outbox.retire()
        news = self._inbox.news(message)
        if message.kind == FAILURE:
            reason, text = news
            return PolicyError(text) if reason == "policy_error" else EpisodeError(reason, text)
        if news is not None:
            self._action = Layout(news)
        if self._action is None:
            raise ChannelError("an action came without its shape")
        action = copied(self._action.read(self._inbox.memory, message.json_size))
        seconds = monotonic() - self._asked
        state.timings["queue"] += message.queue
        state.timings["compute"] += message.compute
        state.timings["transport"] += max(seconds - message.queue - message.compute, 0.0)
        return action


def _welcomed(addresses: Sequence[str]) -> tuple[socket.socket, tuple[int, int] | None]:
    """A connection to the first server that says hello, and its bells.

    A server that starts again, or computes, does not: it keeps its place in line, and after a moment the next one is
    asked too. The wait has the time of the episode, not of a step.
    """
    waiting: list[socket.socket] = []
    left = list(addresses)
    try:
        while left or waiting:
            if left:
                sock = socket.socket(socket.AF_UNIX)
                try:
                    sock.connect(native(left.pop(0)))
                except OSError:
                    sock.close()
                else:
                    waiting.append(sock)
            readable = select.select(waiting, [], [], SOON_S if left else None)[0] if waiting else []
            for sock in readable:
                waiting.remove(sock)
                with suppress(OSError, ChannelError):
                    message, bells = greeting(sock)
                    if message.kind == HELLO:
                        return sock, bells
                sock.close()
    finally:
        for sock in waiting:
            sock.close()
    raise EpisodeError("server_lost", "the inference server is gone and will not be started again")


def is_closed(sock: socket.socket) -> bool:
    """Whether the server went away between two episodes: nothing else can make an idle connection readable."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def native(address: str) -> str | bytes:
    """`@name` is a Linux abstract address, which leaves no file behind."""
    return b"\0" + address[1:].encode() if address.startswith("@") else address
