"""Where a test looks at the processor time that it takes: the collector of garbage is kept from taking some, too."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def calm() -> Iterator[None]:
    """No collection inside: in a worker that has run thousands of tests one can take a tenth of a second."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
