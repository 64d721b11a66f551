"""The server process: holds the model once, reads requests of many clients, answers them in batches.

One thread does everything. While the model computes, requests gather (their arrays are in shared memory already) and
make up the next batch. What is done for a row is done with caches that the model has emptied, so it is little; and who
waits is woken when all answers are written, lest the first takes the core. A second thread only watches the lifeline,
stdin: when the controller is gone, so is the server.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import selectors
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.batching import Batcher
from pytest_vla.inference.channel import (
    FAILURE,
    HELLO,
    PATIENCE,
    REPLY,
    REQUEST,
    RETAINED,
    ChannelError,
    Inbox,
    Message,
    Outbox,
    receive,
    send,
)
from pytest_vla.inference.engine import Engine, Episode, Failure, Job, failure_of, without_gradients
from pytest_vla.inference.heap import keep_freed_memory
from pytest_vla.inference.memory import Arena
from pytest_vla.inference.status import StatusPage
from pytest_vla.inference.threads import ThreadTrial
from pytest_vla.observed import Hearing
from pytest_vla.tree import Skeleton, TreeError, flatten

if TYPE_CHECKING:
    from pytest_vla.inference.tuning import Tuner

HEARTBEAT_S = 1.0


class Client:
    """One connection: one episode at a time, with the skeleton and the prompt it sent last."""

    def __init__(self, sock: socket.socket, kinds: dict[Skeleton, Skeleton]) -> None:
        self.sock = sock
        self.bells: tuple[int, ...] = ()  # that of the client, and ours
        if hasattr(os, "eventfd"):
            self.bells = os.eventfd(0), os.eventfd(0)
        self.number = 0  # of its last request
        self.inbox, self.outbox = Inbox(), Outbox()
        self.hearing = Hearing()
        self.kind: Skeleton = ()  # of its observations; the very same object for all clients
        self._kinds = kinds
        self.action_skeleton: Any = None
        self.episode: Episode | None = None

    def read(self) -> Request:
        """The next request on the socket; raises ChannelError when the peer is gone or talks nonsense."""
        message, fd = receive(self.sock)
        if fd is not None:
            self.inbox.attach(fd)
        return self._request(message)

    def hear(self) -> Request | None:
        """The request that was posted before our bell rang, if it is a new one."""
        message = self.inbox.posted((self.number + 1) % 2**32)
        return None if message is None else self._request(message)

    def reply(self, message: Message) -> None:
        """Send what was written to the outbox; a client with bells sleeps until it is woken."""
        if self.inbox.is_retained():
            message.flags |= RETAINED
        if self.bells:
            self.outbox.post(self.sock, message)
        else:
            self.outbox.send(self.sock, message)

    def wake(self) -> None:
        if self.bells:
            os.eventfd_write(self.bells[0], 1)

    def hint(self) -> None:
        """Say that the answer takes longer, for a reason."""
        send(self.sock, Message(PATIENCE))
        self.wake()

    def close(self) -> None:
        self.sock.close()
        for bell in self.bells:
            os.close(bell)

    def _request(self, message: Message) -> Request:
        if message.kind != REQUEST:
            raise ChannelError(f"a message of unknown kind {message.kind}")
        self.number = message.number
        news = self.inbox.news(message)
        try:
            known = news is None
            observation = self.hearing.again(self.inbox.read) if known else self._learn(news, message.json_size)
            if self.episode is None:
                raise ChannelError("an observation came before its episode")
        except (TreeError, LookupError, TypeError, ValueError) as error:
            raise ChannelError(f"a request cannot be read: {error}") from None
        return Request(self, message.sent, Job(self.episode, observation, self.kind))

    def _learn(self, news: dict[str, Any], start: int) -> dict[str, Any]:
        if "episode" in news:
            self.episode = Episode(EpisodeKey(**news["episode"]))
            self.hearing.begin()
        observation = self.hearing.observation(news, self.inbox.memory, start)
        self.kind = self._kinds.setdefault(self.hearing.kind, self.hearing.kind)
        return observation


@dataclass(slots=True)
class Request:
    client: Client
    sent: float
    job: Job | None


class Server:
    """Serves an engine on a listening socket until `stop` is readable."""

    def __init__(self, engine: Engine, listener: socket.socket, limit: int, page: StatusPage | None = None) -> None:
        self.engine = engine
        engine.alive = self._be_patient
        self.batcher: Batcher[Request] = Batcher(limit, patience=0.5 if engine.fixed else 0.1)
        self.statistics = (page or StatusPage.create()).live
        self.tuner: Tuner | None = None
        self.trial: ThreadTrial | None = None
        self._listener = listener
        self._clients: set[Client] = set()
        self._live: set[Client] = set()  # those in an episode
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._kinds: dict[Skeleton, Skeleton] = {}
        self._by_bell: dict[int, Client] = {}
        self._bells: select.epoll | None = None
        if hasattr(os, "eventfd"):
            self._bells = select.epoll()
            self._bells.register(self._selector.fileno(), select.EPOLLIN)

    def run(self) -> None:
        """Forever: read what is there, answer what is due."""
        while True:
            self.step()

    def step(self) -> None:
        """One round: wait until something happens, then answer at most one batch."""
        limit = self.batcher.wait(len(self._live), monotonic())
        if self._bells is None:
            self._attend(limit)
        else:
            self._hear(self._bells, limit)
        if self.batcher.wait(len(self._live), monotonic()) == 0:
            self._answer(self.batcher.take())

    def _hear(self, bells: select.epoll, limit: float | None) -> None:
        """Take the requests of all whose bells ring within the time, and see to all else that happens."""
        for bell, _ in bells.poll(limit):
            client = self._by_bell.get(bell)
            if client is None:
                self._attend(0)
            else:
                self._take(client, client.hear)

    def _attend(self, limit: float | None) -> None:
        """See to the sockets: who comes, who goes, and what comes over them."""
        for key, _ in self._selector.select(limit):
            key.data()

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # another replica was faster, or the client is gone
            return
        client = Client(sock, self._kinds)
        try:
            _check_user(sock)
            send(sock, Message(HELLO), *client.bells)
        except ChannelError:
            client.close()
            return
        self._clients.add(client)
        self._selector.register(sock, selectors.EVENT_READ, partial(self._take, client, client.read))
        if self._bells is not None and client.bells:
            self._by_bell[client.bells[1]] = client
            self._bells.register(client.bells[1], select.EPOLLIN | select.EPOLLET)  # there is nothing to fetch from it

    def _take(self, client: Client, read: Callable[[], Request | None]) -> None:
        try:
            request = read()
        except (ChannelError, OSError):
            self._drop(client)
            return
        if request is not None:
            self._live.add(client)
            self.batcher.add(client, request, monotonic())

    def _drop(self, client: Client) -> None:
        if client not in self._clients:
            return
        self._selector.unregister(client.sock)
        self._clients.discard(client)
        self._live.discard(client)
        self.batcher.drop(client)
        if self._bells is not None and client.bells:
            self._bells.unregister(client.bells[1])
            del self._by_bell[client.bells[1]]
        client.close()

    def _answer(self, requests: list[Request]) -> None:
        if self.trial is not None:
            self.trial.apply()
        start, row_by_row, unseeded = monotonic(), self.engine.row_by_row, self.engine.unseeded
        self.statistics.busy_since = start
        answers = self.engine.answer([request.job for request in requests if request.job is not None])
        compute = monotonic() - start
        if self.trial is not None:
            self._try_threads(self.trial, len(requests), compute)
        if self.tuner is not None and not self.tuner.supply and requests[0].job is not None:
            self.tuner.measure_supply(requests[0].job)
        self.batcher.took(len(requests), compute)
        queue, failures = 0.0, 0
        for index, request in enumerate(requests):
            waited = max(start - request.sent, 0.0)
            answer, answers[index] = answers[index], None
            queue += waited
            failures += isinstance(answer, Failure)
            request.job = None  # what is still held after this is held by the policy
            reply = Message(REPLY, 0, len(requests), request.client.number, 0, 0, 0.0, waited, compute)
            self._reply(request.client, reply, answer)
        for request in requests:
            if request.client in self._clients:
                request.client.wake()
        if self.tuner is not None:
            self._tune(self.tuner, requests)
        self.statistics.busy_since = 0.0
        apart, unseeded = self.engine.row_by_row - row_by_row, self.engine.unseeded - unseeded
        self.statistics.batch(len(requests), failures, queue, compute, apart, unseeded)

    def _be_patient(self) -> None:
        """Between trials of the model: neither who watches it nor who waits for it is to count their time."""
        self.statistics.busy_since = monotonic()
        for client in self._live:
            with suppress(ChannelError, OSError):
                client.hint()

    def _try_threads(self, trial: ThreadTrial, rows: int, seconds: float) -> None:
        """In the first calls of a run; the threads that were found better stay."""
        trial.took(rows, seconds)
        if trial.is_over:
            trial.apply()
            self.trial = None

    def _tune(self, tuner: Tuner, requests: list[Request]) -> None:
        """In the first seconds of a run with `--vla-batch=auto`."""
        for request in requests:
            tuner.answered(request.client, request.sent)
        if tuner.found:
            self.batcher.limit, self.tuner = tuner.batch, None

    def _reply(self, client: Client, reply: Message, answer: Any) -> None:
        try:
            if not isinstance(answer, Failure):
                answer = _write_action(client, reply, answer)
            if isinstance(answer, Failure):
                reply.kind = FAILURE
                client.outbox.put(reply, [answer.reason, answer.message], [])
            client.reply(reply)
        except (ChannelError, OSError):
            self._drop(client)


def _check_user(sock: socket.socket) -> None:
    """Anybody on the machine can find the address; only our own user may use it."""
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        if user != os.getuid():
            raise ChannelError(f"user {user} may not use this server")


def _write_action(client: Client, reply: Message, action: Any) -> Failure | None:
    if client.outbox.refill(reply, action):
        return None
    try:
        skeleton, arrays = flatten(action, "action")
    except TreeError as error:
        return Failure("policy_error", str(error))
    is_known = skeleton == client.action_skeleton
    client.outbox.put(reply, None if is_known else skeleton, arrays, skeleton if is_known else None)
    client.action_skeleton = skeleton
    return None


def main() -> None:
    """`python -m pytest_vla.inference.server '{"policy": ..., "listener": FD, ...}'`, as the controller starts it."""
    options = json.loads(sys.argv[1])
    sys.path[:] = options["path"]  # what the controller can import, we can
    from pytest_vla.policies.trust import trust

    trust(options["trust"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the controller, which closes our stdin
    threading.Thread(target=_watch_lifeline, args=(options["limit"],), daemon=True).start()
    keep_freed_memory()
    ready = os.fdopen(options["ready"], "w")
    try:
        engine, introduction = _load(options)
    except Exception as error:
        failure = failure_of(error)
        print(json.dumps({"error": failure.message}), file=ready, flush=True)
        raise SystemExit(1) from None
    listener = socket.socket(fileno=options["listener"])
    server = Server(engine, listener, options["batch"], StatusPage(Arena.attach(options["status"])))
    if options["try_threads"]:
        server.trial = ThreadTrial.where_it_matters()
    print(json.dumps(introduction), file=ready, flush=True)
    if options["tune"]:
        from pytest_vla.inference.tuning import Tuner

        server.tuner = Tuner(engine, options["clients"], lambda found: print(json.dumps(found), file=ready, flush=True))
    with without_gradients():
        server.run()


def _load(options: dict[str, Any]) -> tuple[Engine, dict[str, Any]]:
    from pytest_vla.inference.cost import weights_of
    from pytest_vla.policies.compute import Compute
    from pytest_vla.policies.kinds import load_shared

    how = Compute(options["dtype"], options["compiled"])
    source = load_shared(options["policy"]).computing(options["device"], how)
    introduction = {"digest": source.digest, "verified": source.verified, "spec": source.spec.to_dict()}
    introduction["weights"] = weights_of(source.policy, source.text)
    return Engine(source.policy, fixed=options["batch"] if options["fixed"] else 0), introduction


def _watch_lifeline(limit: float) -> None:
    """End the process when stdin closes, even in the middle of a call.

    Native code that never gives up the interpreter would stop this thread too: then the dead man's switch ends the
    process, `limit` seconds after this thread was last able to renew it.
    """
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    while True:
        if limit:
            faulthandler.dump_traceback_later(limit + 10 * HEARTBEAT_S, exit=True)
        if selector.select(HEARTBEAT_S) and not os.read(0, 1024):
            os._exit(0)


if __name__ == "__main__":
    main()
