"""The Spark sink's protocol on a running Tapelog, without Spark."""

from __future__ import annotations

import pytest

from tests.clients.blocking_client_checks import Check, Place
from tests.clients.sink_checks import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_on_tapelog(bootstrap: str, check: Check) -> None:
    check(Place(bootstrap))
