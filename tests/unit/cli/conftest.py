"""Consoles look at the captured streams of each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapelog.cli.output import reset_consoles


@pytest.fixture(autouse=True)
def fresh_consoles() -> Iterator[None]:
    reset_consoles()
    yield
    reset_consoles()
