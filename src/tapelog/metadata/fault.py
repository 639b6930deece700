"""The one failure a node does not survive: what the quorum committed cannot be replayed, or cannot be followed.

An image with half of a change in it says things that nobody decided: whom to follow, who leads, what is deleted. So
nobody acts on it. The process ends at once, as from a crash; what is on disk is whole, and a start replays it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tapelog.base.ports import DiskError


class MetadataFault(BaseException):
    """Committed metadata could not be taken. Not an Exception: many shield the node from a request that fails, and
    each of them would go on with half an image."""


@contextmanager
def replaying(end_offset: int) -> Iterator[None]:
    """What fails in here is a fault; a disk that cannot be read is not, since nothing was changed yet."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:
        raise MetadataFault(
            f"the metadata before offset {end_offset} cannot be replayed: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def publishing(offset: int) -> Iterator[None]:
    """What fails in here is a fault, whatever it is: somebody may have followed already."""
    try:
        yield
    except Exception as error:
        raise MetadataFault(
            f"the metadata before offset {offset} cannot be followed: {type(error).__name__}: {error}"
        ) from error
