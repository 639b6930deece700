"""Addresses in print: what is printed can be given to a client."""

from __future__ import annotations

import pytest

from tapelog.base.addresses import host_port
from tapelog.client.settings import Address, parse_addresses


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("127.0.0.1", "127.0.0.1:9092"),
        ("broker.example", "broker.example:9092"),
        ("::1", "[::1]:9092"),
        ("fe80::1%eth0", "[fe80::1%eth0]:9092"),
        ("[::1]", "[::1]:9092"),
    ],
)
def test_an_ipv6_host_stands_in_brackets(host: str, text: str) -> None:
    assert host_port(host, 9092) == text
    assert str(Address(host, 9092)) == text


def test_what_is_printed_is_read_again() -> None:
    assert parse_addresses(host_port("::1", 9092)) == (Address("::1", 9092),)
