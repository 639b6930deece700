"""The three loops for async handlers. What they promise is told in `tapelog.toolkit.loops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from tapelog.toolkit.aio.loop import CONCURRENCY, Loop, Options, without_own
from tapelog.toolkit.aio.runner import Handler
from tapelog.toolkit.causal import CausalOrder
from tapelog.toolkit.checks import check_async_handler
from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.loop import Plan
from tapelog.toolkit.loops import (
    TRANSACTION_TIMEOUT_S,
    at_least_once_plan,
    at_most_once_plan,
    exactly_once_plan,
)


def exactly_once(
    cluster: Cluster,
    *,
    group: str,
    topics: str | Sequence[str],
    handle: Handler,
    transactional_id: str | None = None,
    transaction_timeout: float = TRANSACTION_TIMEOUT_S,
    **options: Unpack[Options],
) -> Loop:
    """Results and offsets are committed together; see `tapelog.toolkit.exactly_once`."""
    plan = exactly_once_plan(cluster, group, topics, transactional_id, transaction_timeout, without_own(options))
    return _loop(plan, handle, options)


def at_least_once(
    cluster: Cluster,
    *,
    group: str,
    topics: str | Sequence[str],
    handle: Handler,
    causal: CausalOrder | None = None,
    **options: Unpack[Options],
) -> Loop:
    """Handle, send, and only then commit; see `tapelog.toolkit.at_least_once`."""
    return _loop(at_least_once_plan(cluster, group, topics, without_own(options), causal), handle, options)


def at_most_once(
    cluster: Cluster, *, group: str, topics: str | Sequence[str], handle: Handler, **options: Unpack[Options]
) -> Loop:
    """Commit, and only then handle; see `tapelog.toolkit.at_most_once`."""
    return _loop(at_most_once_plan(cluster, group, topics, without_own(options)), handle, options)


def _loop(plan: Plan, handle: Handler, options: Options) -> Loop:
    check_async_handler(handle)
    return Loop(plan, handle, options.get("order", "partition"), options.get("concurrency", CONCURRENCY))
