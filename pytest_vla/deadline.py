"""A limit on how long a block of code may be silent, so that a policy or simulator that hangs costs one episode.

How much an episode may do is limited in steps: a loaded machine must not decide what a policy can.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class DeadlineExceeded(BaseException):
    """The block took too long. Not an Exception: a policy's own `except Exception` must not swallow it."""


def sign_of_life() -> None:
    """What takes long and is not to count, such as a trial of the model, gives one in the name of the running block."""
    if _blocks:
        _blocks[-1]()


_blocks: list[Callable[[], None]] = []


@contextmanager
def deadline(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise DeadlineExceeded inside the block that many seconds after its last sign of life; 0 means never.

    The block gives one by calling what it gets.

    Works in the main thread where the platform has interval timers (an alarm interrupts Python code and sleeping
    system calls). Elsewhere, and for native code that never returns, `faulthandler_timeout` is the second line.
    """
    if seconds <= 0 or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def expire(signum: int, frame: FrameType | None) -> None:
        raise DeadlineExceeded(f"no result within {seconds:g} s")

    def alive() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    previous_handler = signal.signal(signal.SIGALRM, expire)
    previous_timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    _blocks.append(alive)
    try:
        yield alive
    finally:
        _blocks.pop()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
        if previous_timer[0]:
            signal.setitimer(signal.ITIMER_REAL, *previous_timer)
