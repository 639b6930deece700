"""Raw connections: versions agreed, errors in words, one bound for many questions."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from tapelog.cli import raw
from tapelog.cli.connect import Connection
from tapelog.cli.output import CliError
from tapelog.cli.raw import LEAST_S, Link, RawError, Wire, check
from tapelog.cli.security import Security
from tapelog.wire.message import Message
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tests.unit.client.fake_broker import Answer, FakeBroker, versions


def test_an_error_code_is_told_by_name() -> None:
    check(0, "nothing")
    with pytest.raises(RawError, match="NOT_COORDINATOR"):
        check(16, "group g")


def lists(request: Message, version: int) -> Answer:
    """A broker with no transactions."""
    return ListTransactionsResponse()


def old_broker(ranges: dict[int, tuple[int, int]]) -> FakeBroker:
    """One that has these APIs, and no others."""
    broker = FakeBroker(lists)
    broker.about = versions(ranges)
    return broker


def test_the_newest_version_that_both_have_is_spoken() -> None:
    with old_broker({66: (0, 1)}) as broker, Wire(Connection(str(broker.address))) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse)
        assert broker.asked[-1][1] == 1
        with pytest.raises(RawError, match="too old"):
            wire.ask(ListTransactionsRequest(transactional_id_pattern="a.*"), ListTransactionsResponse)


def test_what_a_broker_does_not_have_is_told() -> None:
    with old_broker({3: (0, 12)}) as broker, Wire(Connection(str(broker.address))) as wire:
        assert not wire.serves(ListTransactionsRequest, 0)
        with pytest.raises(RawError, match="ListTransactions"):
            wire.ask(ListTransactionsRequest(), ListTransactionsResponse)


def test_an_answer_that_is_none_is_told_and_the_next_question_has_a_new_connection() -> None:
    with old_broker({66: (0, 1)}) as broker, Wire(Connection(str(broker.address))) as wire:
        broker.handler = lambda request, version: b"\0\0\0\6\0\0\0\2\xff\xff"
        with pytest.raises(CliError, match="its answer to ListTransactions is malformed"):
            wire.ask(ListTransactionsRequest(), ListTransactionsResponse)
        broker.handler = lists
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse)


def test_questions_that_share_a_bound_do_not_wait_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    class Counted(Link):
        """Waits for ten milliseconds, and counts as long as it was told to wait."""

        def __init__(self, host: str, port: int, security: Security, timeout_s: float) -> None:
            waits.append(timeout_s)
            super().__init__(host, port, security, 0.01)

    monkeypatch.setattr(raw, "Link", Counted)
    monkeypatch.setattr(raw, "time", SimpleNamespace(monotonic=lambda: sum(waits)))
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        both = [f"127.0.0.1:{server.getsockname()[1]}" for server in (one, two)]  # they take connections, and no more
        with Wire(Connection(",".join(both), timeout_s=0.4)) as wire, wire.bounded(), wire.apart() as other:
            for asked in (wire, other, wire, other):
                with pytest.raises(CliError, match="no answer"):
                    asked.ask(ListTransactionsRequest(), ListTransactionsResponse)
    assert waits == pytest.approx([0.2, 0.2] + 6 * [LEAST_S]), "eight times the timeout without a bound"
