"""Ids: Kafka's 128-bit uuids as 16 bytes, and their 22-character text form.

Used wherever a topic, directory, incarnation or cluster gets an id or prints one.
"""

from __future__ import annotations

import binascii
from typing import Final

from tapelog.base.ports import Entropy

ZERO: Final = bytes(16)
METADATA_TOPIC: Final = bytes(15) + b"\x01"
"""The id of __cluster_metadata."""

DIR_UNASSIGNED: Final = bytes(16)
DIR_LOST: Final = bytes(15) + b"\x01"
DIR_MIGRATING: Final = bytes(15) + b"\x02"

RESERVED_MAX: Final = 100
"""Ids below this number are reserved by Kafka and never given out."""

TEXT_LENGTH: Final = 22


def to_text(id: bytes) -> str:
    """The url-safe base64 form without padding that Kafka prints and stores."""
    assert len(id) == 16
    return binascii.b2a_base64(id, newline=False).decode("ascii").rstrip("=").replace("+", "-").replace("/", "_")


def from_text(text: str) -> bytes:
    """The inverse of to_text; ValueError on anything that is not 22 characters of url-safe base64.

    As in Kafka, the last character's four spare bits may be anything: well-known cluster ids make use of that.
    """
    if len(text) != TEXT_LENGTH or "+" in text or "/" in text:
        raise ValueError(f"{text!r} is not a 22-character id")
    try:
        id = binascii.a2b_base64(text.replace("-", "+").replace("_", "/") + "==", strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a 22-character id") from error
    assert len(id) == 16
    return id


def new_id(entropy: Entropy) -> bytes:
    """A random version-4 uuid, never a reserved one, and its text never begins with a dash (an option to tools)."""
    while True:
        raw = bytearray(entropy.token(16))
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        id = bytes(raw)
        if not to_text(id).startswith("-"):
            return id
