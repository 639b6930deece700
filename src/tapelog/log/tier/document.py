"""Small texts in the bucket that can be checked: a line with kind, version, length and CRC-32C, then JSON.

    tapelog-tier-manifest 1 482 5f3c09ab
    {"broker":1, …}

The length counts the bytes behind the line, the checksum covers them. Unknown fields of a known version are ignored.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tapelog.wire.crc import crc32c

LINE_MAX: Final = 200


class DocumentError(Exception):
    """Not a document of that kind, or a damaged one; the text says what is wrong."""


def render(kind: str, version: int, content: dict[str, Any]) -> bytes:
    """The bytes of a document."""
    body = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode() + b"\n"
    return f"{kind} {version} {len(body)} {crc32c(body):08x}\n".encode() + body


def parse(kind: str, version: int, data: bytes) -> dict[str, Any]:
    """What render was given; DocumentError for anything else."""
    line, newline, body = data.partition(b"\n")
    words = line[:LINE_MAX].decode("ascii", "replace").split(" ")
    if not newline or len(words) != 4 or words[0] != kind:
        raise DocumentError(f"this is no {kind}")
    if words[1] != str(version):
        raise DocumentError(f"{kind} has version {words[1]}, this program knows {version}: use a newer one")
    if words[2] != str(len(body)):
        raise DocumentError(f"{kind} should have {words[2]} bytes behind its first line, has {len(body)}")
    if words[3] != f"{crc32c(body):08x}":
        raise DocumentError(f"{kind} is damaged: its checksum is not {words[3]}")
    try:
        content = json.loads(body)
    except ValueError as error:
        raise DocumentError(f"{kind} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise DocumentError(f"{kind} holds no object")
    return content
