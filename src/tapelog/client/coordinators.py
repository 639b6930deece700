"""One request per transactional id, to many coordinators at once: what init and end of transactions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from tapelog.client.cluster import TRANSACTION, Cluster
from tapelog.client.errors import ClientError, DeadlineError, Retriable, refusal
from tapelog.client.link import Link, Ticket
from tapelog.client.pace import Backoff, Deadline
from tapelog.wire.message import Message

ROUND_MAX: Final = 100
"""Requests that are sent before the first answer is taken."""

K = TypeVar("K")
A = TypeVar("A", bound=Message)


def with_coordinators(
    cluster: Cluster,
    items: Sequence[K],
    name_of: Callable[[K], str],
    send: Callable[[Link, K, Deadline], Ticket[A]],
    take: Callable[[K, A], int],
    doing: str,
    deadline: Deadline | None,
) -> dict[K, ClientError]:
    """Send one request per item to its coordinator, many in flight, until each is done, refused, or out of time."""
    limit = deadline or cluster.deadline()
    failed: dict[K, ClientError] = {}
    backoff = Backoff(cluster.pace, cluster.settings)
    left = list(items)
    while left:
        again: dict[K, ClientError] = {}
        for start in range(0, len(left), ROUND_MAX):
            sent: list[tuple[K, Link, Ticket[A]]] = []
            part = left[start : start + ROUND_MAX]
            try:
                cluster.find_coordinators(TRANSACTION, [name_of(item) for item in part], limit)
            except Retriable as error:
                again.update(dict.fromkeys(part, error))
                continue
            for item in part:
                try:
                    link = cluster.coordinator(TRANSACTION, name_of(item), limit)
                    sent.append((item, link, send(link, item, limit)))
                except Retriable as error:
                    again[item] = error
            for item, link, ticket in sent:
                try:
                    code = take(item, link.receive(ticket, limit))
                except Retriable as error:
                    again[item] = error
                    continue
                if code:
                    problem = refusal(code, f"{doing} {name_of(item)}", f"transactional id {name_of(item)}")
                    (again if isinstance(problem, Retriable) else failed)[item] = problem
        left = list(again)
        if left:
            cluster.forget()
            if not backoff.pause(limit):
                for item, problem in again.items():
                    what = f"could not {doing} {name_of(item)} within {limit.seconds:g} s; last: {problem.what}"
                    failed[item] = DeadlineError(what, problem.which, problem.do)
                break
    return failed
