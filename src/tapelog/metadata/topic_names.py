"""Which names a topic may have, and which two names would collide."""

from __future__ import annotations

from typing import Final

NAME_LENGTH_MAX: Final = 249
CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"

INTERNAL_TOPICS: Final = (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE)
"""Topics that the broker itself writes; clients see them marked as internal."""

_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_illegal(name: str) -> str | None:
    """What is wrong with a topic name; None if nothing is."""
    if not name:
        return "Topic name is invalid: it is empty"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' means a directory"
    if len(name) > NAME_LENGTH_MAX:
        return f"Topic name is invalid: '{name}' is longer than {NAME_LENGTH_MAX} characters"
    if not _LEGAL.issuperset(name):
        return f"Topic name is invalid: '{name}' has characters other than ASCII letters, digits, '.', '_' and '-'"
    return None


def is_internal(name: str) -> bool:
    """Whether clients are told that the topic is internal."""
    return name in INTERNAL_TOPICS


def collision_key(name: str) -> str | None:
    """Names with the same key collide in metric names; None for names that cannot collide with others."""
    return name.replace(".", "_") if "." in name or "_" in name else None
