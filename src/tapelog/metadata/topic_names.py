"""Which names a topic may have, and which two names would collide."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

NAME_LENGTH_MAX: Final = 249
CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"

INTERNAL_TOPICS: Final = (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE)
"""Topics that the broker itself writes; clients see them marked as internal."""

_SEPARATORS_TRIED_MAX: Final = 8
"""Up to here, trying every spelling is cheaper than looking through all topics."""

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


def colliding(name: str, others: Collection[str]) -> str | None:
    """Another name that differs only in '.' and '_', which metric names cannot tell apart; None if there is none."""
    places = [position for position, character in enumerate(name) if character in "._"]
    if not places:
        return None
    if len(places) > _SEPARATORS_TRIED_MAX:
        plain = name.replace(".", "_")
        return next((other for other in others if other != name and other.replace(".", "_") == plain), None)
    letters = list(name)
    for choice in range(1 << len(places)):
        for bit, position in enumerate(places):
            letters[position] = "._"[choice >> bit & 1]
        other = "".join(letters)
        if other != name and other in others:
            return other
    return None
