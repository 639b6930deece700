"""How much topics may hold on disk: the bound of a topic, and bounds of all topics that begin with a prefix.

Read from `tapelog.max.bytes`, `tapelog.max.bytes.policy` and `tapelog.max.bytes.prefixes`; `node.quotas` holds them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

REJECT: Final = "reject"
DROP_OLDEST: Final = "drop-oldest"
POLICIES: Final = (REJECT, DROP_OLDEST)
UNITS: Final = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SHAPE: Final = "must be a list of PREFIX=BYTES or PREFIX=BYTES:POLICY, for example logs.=10GiB:drop-oldest"


class Bound(NamedTuple):
    """At most so many bytes, and what happens when there are more."""

    limit: int
    policy: str


def parse_prefix_bounds(text: str) -> dict[str, Bound]:
    """`PREFIX=BYTES[:POLICY],…` as a table; ValueError says what is wrong with it."""
    found: dict[str, Bound] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        prefix, equals, rest = item.rpartition("=")
        size, _, policy = rest.partition(":")
        policy = policy.strip() or REJECT
        if not equals or policy not in POLICIES:
            raise ValueError(SHAPE)
        if prefix.strip() in found:
            raise ValueError(f"the prefix {prefix.strip()!r} is there twice")
        found[prefix.strip()] = Bound(parse_size(size.strip()), policy)
    return found


def parse_size(text: str) -> int:
    """Bytes, or a number of KiB, MiB, GiB or TiB; ValueError otherwise."""
    digits = text.rstrip("KMGTiB")
    factor = UNITS.get(text[len(digits) :], 0)
    if not (digits.isascii() and digits.isdigit() and factor):
        raise ValueError(SHAPE)
    return int(digits) * factor


def longest_prefix(bounds: dict[str, Bound], topic: str) -> str | None:
    """Which of the prefixes counts for a topic: the longest that it begins with."""
    found: str | None = None
    for prefix in bounds:
        if topic.startswith(prefix) and (found is None or len(prefix) > len(found)):
            found = prefix
    return found
