"""What glibc's allocator is told: keep the memory of large requests while they come, give it back when they have gone.

On other C libraries both calls do nothing.
"""

from __future__ import annotations

from typing import Final

MALLOC_OPTIONS: Final = ((-3, 32 << 20), (-1, 64 << 20))  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def keep_large_buffers() -> None:
    """Reuse freed memory instead of returning it to the kernel and faulting it in again for the next request."""
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in MALLOC_OPTIONS:
            mallopt(option, value)


def give_memory_back() -> None:
    """Return what is free to the kernel, also from the middle of the heap."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
