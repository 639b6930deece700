"""When committed offsets of a group without members expire (`offsets.retention.minutes`). Pure."""

from __future__ import annotations

from tapelog.toolkit.lag.commits import Commit


def expires_ms(
    commit: Commit, *, kind: str, simple: bool, empty: bool, stood_since_ms: int | None, retention_ms: int
) -> int | None:
    """The moment an offset may be removed; None while the group's members keep it.

    A classic group's offsets count from when its last member left (`stood_since_ms`), those of a consumer (KIP-848) or
    simple group from their commit. Without knowing when the last member left, the commit's time is the earliest it
    can be.
    """
    if commit.expires_ms is not None:
        return commit.expires_ms
    if simple or (empty and kind != "classic"):
        return commit.at_ms + retention_ms
    if not empty:
        return None
    return max(commit.at_ms, stood_since_ms or 0) + retention_ms
