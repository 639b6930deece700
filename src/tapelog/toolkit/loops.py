"""The three loops: `exactly_once`, `at_least_once`, `at_most_once`. `aio` has the same for async handlers.

from tapelog.toolkit import Record, Send, exactly_once

def shout(record: Record) -> Send:
    return Send("shouts", record.text().upper(), key=record.key)

exactly_once("localhost:9092", group="shouter", topics="words", handle=shout).run()
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from tapelog.toolkit.causal import CausalGate, CausalOrder, Known
from tapelog.toolkit.checks import check_handler, check_options, checked_topics
from tapelog.toolkit.clients import Cluster, producer_config, transactional_config
from tapelog.toolkit.delivery import AtLeastOnce, AtMostOnce, Delivery, ExactlyOnce
from tapelog.toolkit.engine import Bounds
from tapelog.toolkit.failures import OnError, Skip, StopOnError
from tapelog.toolkit.loop import GRACE_S, Loop, Options, Plan
from tapelog.toolkit.runner import Handler, InOrder
from tapelog.toolkit.sink import Sink, Waits
from tapelog.toolkit.transactions import Transactions
from tapelog.toolkit.watch import PATIENCE_S

BATCH_RECORDS = 500
BATCH_SECONDS = 0.1
TRANSACTION_TIMEOUT_S = 30.0


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
    """Read, process, write: what the handler returns and the offset of what it was given are committed together.

    Promise: a `read_committed` reader of the output sees the effect of every input record exactly once, whatever
    crashes. Effects outside Kafka are not covered; for those, see IdempotentConsumer.

    Before partitions are given up in a rebalance, open work is committed; when they were lost, it is aborted. A
    handler's error ends the loop, or what `on_error` decides; dead letters are sent in the same transaction.

    transactional_id: give each instance a name of its own that it keeps over restarts (a host name, a pod's ordinal):
    then a restart aborts at once what a crash left open. A second loop with the same name fences the first, which ends
    with Fenced. Without a name one is made up, and what a crash left open lasts until `transaction_timeout`.
    """
    check_handler(handle)
    return Loop(
        exactly_once_plan(cluster, group, topics, transactional_id, transaction_timeout, options), InOrder(handle)
    )


def at_least_once(
    cluster: Cluster,
    *,
    group: str,
    topics: str | Sequence[str],
    handle: Handler,
    causal: CausalOrder | None = None,
    **options: Unpack[Options],
) -> Loop:
    """Handle, send, and only then commit.

    Promise: the handler returns normally at least once for every record, and everything it returned is stored, before
    the record's offset is committed. After a crash or a lost partition some records come again.

    causal: hold back records until what they depend on has been handled; see `tapelog.toolkit.causal`.
    """
    check_handler(handle)
    return Loop(at_least_once_plan(cluster, group, topics, options, causal), InOrder(handle))


def at_most_once(
    cluster: Cluster, *, group: str, topics: str | Sequence[str], handle: Handler, **options: Unpack[Options]
) -> Loop:
    """Commit, and only then handle.

    Promise: the handler is called at most once for every record. A crash loses up to `batch_records` of them; so does
    an error, which is logged and skipped unless `on_error` says otherwise. Nothing is tried again.
    """
    check_handler(handle)
    return Loop(at_most_once_plan(cluster, group, topics, options), InOrder(handle))


def exactly_once_plan(
    cluster: Cluster,
    group: str,
    topics: str | Sequence[str],
    transactional_id: str | None,
    timeout_s: float,
    options: Options,
) -> Plan:
    """The plan behind `exactly_once`."""
    if options.get("batch_seconds", BATCH_SECONDS) >= timeout_s:
        raise ValueError(f"a batch must end before its transaction does: batch_seconds >= {timeout_s:g}")
    name = transactional_id or f"{group}-{uuid.uuid4().hex}"
    config = transactional_config(cluster, name, timeout_s, options.get("producer"))

    def deliver(waits: Waits) -> Delivery:
        return ExactlyOnce(Transactions(config, waits, shared_id=transactional_id is not None))

    return _plan(cluster, group, topics, deliver, options)


def at_least_once_plan(
    cluster: Cluster,
    group: str,
    topics: str | Sequence[str],
    options: Options,
    causal: CausalOrder | None = None,
    known: Known | None = None,
) -> Plan:
    """The plan behind `at_least_once`. known: answers for the messages that were handled elsewhere or earlier."""
    config = producer_config(cluster, options.get("producer"))
    plan = _plan(cluster, group, topics, lambda waits: AtLeastOnce(Sink(config, waits)), options)
    if causal is None:
        return plan
    then = () if causal.then == "deliver" else (causal.then,)
    return replace(plan, gate=partial(CausalGate, causal, known), more_policies=then)


def at_most_once_plan(cluster: Cluster, group: str, topics: str | Sequence[str], options: Options) -> Plan:
    """The plan behind `at_most_once`."""
    config = producer_config(cluster, options.get("producer"))
    return _plan(cluster, group, topics, lambda waits: AtMostOnce(Sink(config, waits)), options, Skip())


def _plan(
    cluster: Cluster,
    group: str,
    topics: str | Sequence[str],
    deliver: Callable[[Waits], Delivery],
    options: Options,
    on_error: OnError | None = None,
) -> Plan:
    check_options(options)
    bounds = Bounds(options.get("batch_records", BATCH_RECORDS), options.get("batch_seconds", BATCH_SECONDS))
    if bounds.records < 1 or bounds.seconds < 0:
        raise ValueError("a batch holds at least one record and takes no negative time")
    return Plan(
        cluster,
        group,
        checked_topics(topics),
        options.get("on_error", on_error or StopOnError()),
        bounds,
        deliver,
        options.get("start", "earliest"),
        options.get("consumer", {}),
        options.get("create_topics", True),
        grace_s=options.get("grace_seconds", GRACE_S),
        patience_s=options.get("patience_seconds", PATIENCE_S),
    )
