"""One broker for all the hostile bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapelog.testing import Broker
from tests.fuzz.victim import Victim


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    """A broker to be attacked; at the end it must still stop cleanly."""
    with Broker() as broker:
        yield Victim(broker)


@pytest.fixture(autouse=True)
def unsurprised(victim: Victim) -> Iterator[None]:
    """Whatever a test does, the broker lives and logs no exception."""
    yield
    victim.check()
