"""A test that met a limit which is neither ours nor the test's is begun anew, fixtures and all: told, and bounded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from _pytest.runner import runtestprotocol

TRIES_MAX = 3


def protocol(item: pytest.Item, nextitem: pytest.Item | None, words: Sequence[str]) -> bool:
    """What `pytest_runtest_protocol` does; again as long as a failure has one of these words in it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(TRIES_MAX)):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        told = [report.longreprtext + report.caplog for report in reports if report.failed]
        if not left or not told or not all(any(word in text for word in words) for text in told):
            break
        item._initrequest()  # type: ignore[attr-defined]  # what fixtures gave is forgotten
    for report in reports:
        if left < TRIES_MAX - 1:
            report.sections.append(("Begun anew", f"{TRIES_MAX - 1 - left} times: {words[0]}"))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
