"""What a call of a model frees is kept for the next one: a server makes the same call again and again."""

from __future__ import annotations

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for them: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
LARGEST_KEPT = 32 << 20  # bytes of one block: more than this glibc does not allow
MOST_KEPT = 512 << 20  # bytes in all
VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Tell the allocator of this process not to hand freed memory back to the system; whether it was told.

    Large tensors are otherwise mapped and unmapped in every call, and each of their pages is a fault. What a person set
    stays, and where there is no glibc nothing happens.
    """
    if any(name in os.environ for name in VARIABLES):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, another system
        return False
    return bool(set_option(MMAP_THRESHOLD, LARGEST_KEPT) and set_option(TRIM_THRESHOLD, MOST_KEPT))
