"""Fetch sessions: what a consumer reads is remembered, only news are answered, and every misuse has its code."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.server.fetch_sessions import EVICTION_MS
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tapelog.wire.messages.fetch_response import FetchResponse
from tests.support.rig import TOPIC, Rig, values_of, wants

NO_ID = b"\0" * 16


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=4)
    return rig


class Session:
    """A consumer's fetch session; `by_id` with topic ids."""

    def __init__(self, rig: Rig, *, by_id: bool = False) -> None:
        self.rig = rig
        self.version = 17 if by_id else 12
        self.named: dict[str, Any] = {"topic_id": rig.topic_id()} if by_id else {"topic": TOPIC}
        self.id = 0
        self.epoch = 0

    def ask(self, *parts: FetchPartition, forget: tuple[int, ...] = (), **fields: Any) -> FetchResponse:
        """One fetch of the session as it stands; does not move on."""
        request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
        request.session_id, request.session_epoch = self.id, self.epoch
        for name, value in fields.items():
            setattr(request, name, value)
        if parts:
            request.topics = [FetchTopic(partitions=list(parts), **self.named)]
        if forget:
            request.forgotten_topics_data = [ForgottenTopic(partitions=list(forget), **self.named)]
        response: FetchResponse = self.rig.client.call(request, self.version)
        return response

    def fetch(self, *parts: FetchPartition, **fields: Any) -> dict[int, list[bytes | None]]:
        """One fetch that must succeed; the values by partition, for the partitions that were answered."""
        response = self.ask(*parts, **fields)
        assert response.error_code == 0, response
        self.id, self.epoch = response.session_id, self.epoch + 1
        return {part.partition_index: values_of(part) for topic in response.responses for part in topic.partitions}


@pytest.mark.parametrize("by_id", [False, True])
def test_a_session_answers_everything_first_and_then_only_news(rig: Rig, by_id: bool) -> None:
    session = Session(rig, by_id=by_id)
    rig.produce(rig.batch(b"a"), index=1)
    assert session.fetch(wants(0, 0), wants(1, 0)) == {0: [], 1: [b"a"]}
    assert session.id != 0
    assert session.fetch(wants(1, 1)) == {}
    rig.produce(rig.batch(b"b"), index=0)
    assert session.fetch() == {0: [b"b"]}
    assert session.fetch(wants(0, 1)) == {}


def test_a_partition_with_data_is_answered_again_until_the_consumer_moves_on(rig: Rig) -> None:
    session = Session(rig)
    rig.produce(rig.batch(b"a"))
    assert session.fetch(wants(0, 0)) == {0: [b"a"]}
    assert session.fetch() == {0: [b"a"]}


def test_a_moved_start_offset_is_news(rig: Rig) -> None:
    session = Session(rig)
    rig.produce(rig.batch(b"a"))
    session.fetch(wants(0, 1))
    assert session.fetch() == {}
    rig.partition().log.increment_start_offset(1)
    assert session.fetch() == {0: []}
    assert session.fetch() == {}


@pytest.mark.parametrize("by_id", [False, True])
def test_partitions_are_added_and_forgotten(rig: Rig, by_id: bool) -> None:
    session = Session(rig, by_id=by_id)
    session.fetch(wants(0, 0))
    rig.produce(rig.batch(b"x"), index=0)
    rig.produce(rig.batch(b"y"), index=3)
    assert session.fetch(wants(3, 0), forget=(0,)) == {3: [b"y"]}
    assert session.fetch(forget=(3,)) == {}


def test_an_error_is_answered_every_time(rig: Rig) -> None:
    session = Session(rig)
    for _ in range(3):
        response = session.ask(*([wants(9, 0)] if session.epoch == 0 else []))
        session.id, session.epoch = response.session_id, session.epoch + 1
        codes = [part.error_code for topic in response.responses for part in topic.partitions]
        assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_partitions_take_turns_when_the_bound_is_small(rig: Rig) -> None:
    batch = rig.batch(b"x" * 1000)
    for index in range(3):
        for _ in range(4):
            rig.produce(batch, index=index)
    session = Session(rig)
    offsets = {0: 0, 1: 0, 2: 0}
    served = []
    for _ in range(12):
        got = session.fetch(*(wants(index, offset) for index, offset in offsets.items()), max_bytes=1)
        for index, values in got.items():
            if values:
                offsets[index] += 1
                served.append(index)
    assert served == [0, 1, 2] * 4


@pytest.mark.parametrize("epoch", [2, 5, 0x7FFFFFFF])
def test_a_wrong_epoch_is_refused_and_the_session_lives_on(rig: Rig, epoch: int) -> None:
    session = Session(rig)
    session.fetch(wants(0, 0))
    right, session.epoch = session.epoch, epoch
    response = session.ask()
    assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert response.responses == []
    session.epoch = right
    assert session.fetch() == {}


def test_an_unknown_session_is_refused(rig: Rig) -> None:
    session = Session(rig)
    session.id, session.epoch = 4711, 3
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_closed_session_is_unknown_afterwards(rig: Rig) -> None:
    session = Session(rig)
    session.fetch(wants(0, 0))
    id = session.id
    response = session.ask(wants(0, 0), session_epoch=-1)
    assert (response.error_code, response.session_id) == (0, 0)
    session.id = id
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_fetch_replaces_the_session_it_names(rig: Rig) -> None:
    session = Session(rig)
    session.fetch(wants(0, 0))
    old = session.id
    session.epoch = 0
    session.fetch(wants(1, 0))
    assert session.id not in (0, old)
    assert rig.node.core is not None
    assert list(rig.node.core.fetch_sessions.sessions) == [session.id]


@pytest.mark.parametrize("by_id", [False, True])
def test_names_and_ids_do_not_mix_in_a_session(rig: Rig, by_id: bool) -> None:
    session, other = Session(rig, by_id=by_id), Session(rig, by_id=not by_id)
    session.fetch(wants(0, 0))
    other.id, other.epoch = session.id, session.epoch
    assert other.ask().error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_recreated_topic_is_an_unknown_id_to_the_old_session(rig: Rig) -> None:
    session = Session(rig, by_id=True)
    session.fetch(wants(0, 0))
    rig.delete()
    rig.create()
    response = session.ask()
    assert [part.error_code for topic in response.responses for part in topic.partitions] == [
        ErrorCode.UNKNOWN_TOPIC_ID
    ]


def test_without_a_session_nothing_is_remembered(rig: Rig) -> None:
    session = Session(rig)
    session.epoch = -1
    response = session.ask(wants(0, 0), wants(1, 0))
    assert response.session_id == 0
    assert len(response.responses[0].partitions) == 2
    assert rig.node.core is not None
    assert rig.node.core.fetch_sessions.sessions == {}


def test_a_full_cache_serves_newcomers_without_a_session_until_one_is_idle() -> None:
    rig = Rig(max_incremental_fetch_session_cache_slots="2")
    rig.create()
    sessions = [Session(rig), Session(rig)]
    for session in sessions:
        session.fetch(wants(0, 0))
    newcomer = Session(rig)
    rig.produce(rig.batch(b"a"))
    assert newcomer.fetch(wants(0, 0)) == {0: [b"a"]}, "served all the same"
    assert newcomer.id == 0
    rig.node.pass_time(EVICTION_MS // 2)
    sessions[0].fetch()
    rig.node.pass_time(EVICTION_MS // 2)
    newcomer.epoch = 0
    newcomer.fetch(wants(0, 0))
    assert newcomer.id != 0
    assert sessions[0].ask().error_code == 0, "was used meanwhile"
    assert sessions[1].ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_wrap_around_to_one(rig: Rig) -> None:
    session = Session(rig)
    session.fetch(wants(0, 0))
    assert rig.node.core is not None
    rig.node.core.fetch_sessions.sessions[session.id].epoch = 0x7FFFFFFF
    session.epoch = 0x7FFFFFFF
    session.fetch()
    session.epoch = 1
    assert session.ask().error_code == 0


def test_an_incremental_fetch_waits_and_is_woken(rig: Rig) -> None:
    session = Session(rig)
    session.fetch(wants(0, 0), wants(1, 0))
    request = FetchRequest(max_wait_ms=10_000, min_bytes=1, max_bytes=1000)
    request.session_id, request.session_epoch = session.id, session.epoch
    answers = rig.later(request, 12, rig.connect())
    rig.produce(rig.batch(b"a"), index=1)
    parts = answers[0].responses[0].partitions
    assert [(part.partition_index, values_of(part)) for part in parts] == [(1, [b"a"])]
