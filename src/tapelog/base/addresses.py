"""How an address is printed: the one place that knows of brackets around IPv6 hosts."""

from __future__ import annotations


def host_port(host: str, port: int) -> str:
    """`HOST:PORT` as clients take it; an IPv6 host stands in brackets: `[::1]:9092`."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
