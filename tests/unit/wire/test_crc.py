"""The checksum is the one everybody else computes, however its module was loaded."""

from __future__ import annotations

import crc32c as package
import pytest

from tapelog.wire.crc import crc32c


@pytest.mark.parametrize("data", [b"", b"123456789", bytes(range(256)) * 100])
def test_it_equals_the_package_for_bytes_and_views(data: bytes) -> None:
    assert crc32c(data) == package.crc32c(data)
    assert crc32c(memoryview(data)[1:]) == package.crc32c(data[1:])


def test_the_check_value_of_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283
