"""A wall-clock limit on a block of code, so that a hanging policy or simulator costs one episode and not the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class DeadlineExceeded(BaseException):
    """The block took too long. Not an Exception: a policy's own `except Exception` must not swallow it."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise DeadlineExceeded inside the block after that many seconds; 0 means no limit.

    Works in the main thread where the platform has interval timers (an alarm interrupts Python code and sleeping
    system calls). Elsewhere, and for native code that never returns, `faulthandler_timeout` is the second line.
    """
    if seconds <= 0 or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(signum: int, frame: FrameType | None) -> None:
        raise DeadlineExceeded(f"no result within {seconds:g} s")

    previous_handler = signal.signal(signal.SIGALRM, expire)
    previous_timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
        if previous_timer[0]:
            signal.setitimer(signal.ITIMER_REAL, *previous_timer)
