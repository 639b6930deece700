"""Our blocking client, which the Spark source and sink use, on a running Tapelog."""

from __future__ import annotations

import pytest

from tests.clients.blocking_client_checks import CHECKS, Check, Place


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_on_tapelog(bootstrap: str, check: Check) -> None:
    check(Place(bootstrap))
