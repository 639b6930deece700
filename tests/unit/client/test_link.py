"""One connection: versions, order, several in flight, time limits, strange answers, forks."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from tapelog.client.errors import ClientError, LinkError, ProtocolError
from tapelog.client.handshake import open_link
from tapelog.client.link import Link
from tapelog.client.pace import Deadline, SystemPace
from tapelog.client.settings import Address, ConnectionSettings
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.metadata_response import MetadataResponse
from tapelog.wire.primitives import Slice
from tests.unit.client.fake_broker import Answer, FakeBroker, framed, versions
from tests.unit.client.fake_pace import FakePace


def opened(broker: FakeBroker, pace: SystemPace | FakePace | None = None, **settings: int) -> Link:
    pace = pace or SystemPace()
    return open_link(broker.address, ConnectionSettings((broker.address,), **settings), None, Deadline(pace, 30), pace)  # type: ignore[arg-type]


def soon(link: Link, seconds: float = 30.0) -> Deadline:
    return Deadline(link.pace, seconds)


def numbered(request: Message, version: int) -> Answer:
    """Metadata whose controller id is the number of topics asked for."""
    assert isinstance(request, MetadataRequest)
    return MetadataResponse(controller_id=len(request.topics or []))


def ask(link: Link, count: int = 0, deadline: Deadline | None = None) -> int:
    from tapelog.wire.messages.metadata_request import MetadataRequestTopic

    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")] * count)
    version = link.versions.choose(MetadataRequest)
    return link.call(request, MetadataResponse, version, deadline or soon(link)).controller_id


def test_the_newest_common_version_is_used() -> None:
    with FakeBroker(numbered) as broker:
        broker.about = versions({3: (0, 7), 18: (0, 4), 0: (99, 100)}, transaction_version=2)
        link = opened(broker)
        assert link.versions.choose(MetadataRequest) == 7
        assert link.versions.choose(MetadataRequest, 5) == 5
        assert link.versions.common(FetchRequest) is None
        assert link.versions.feature("transaction.version") == 2
        assert link.versions.feature("kraft.version") == 0
        with pytest.raises(ProtocolError, match="Fetch in common"):
            link.versions.choose(FetchRequest)
        assert ask(link, 3) == 3
        assert broker.asked[-1][1] == 7


@pytest.mark.parametrize("told", [[ApiVersion(18, 0, 2)], []])
def test_a_broker_that_does_not_know_our_version_of_apiversions_is_asked_in_one_it_knows(
    told: list[ApiVersion],
) -> None:
    asked: list[int] = []
    good = versions({3: (0, 8)})

    def serve(sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as stream:
            while size := stream.read(4):
                frame = stream.read(int.from_bytes(size, "big"))
                version = int.from_bytes(frame[2:4], "big")
                asked.append(version)
                correlation_id = int.from_bytes(frame[4:8], "big")
                refused = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=told)
                sock.sendall(
                    framed(refused, 18, 0, correlation_id) if version > 2 else framed(good, 18, version, correlation_id)
                )

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: serve(listener.accept()[0]), daemon=True).start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        pace = SystemPace()
        link = open_link(address, ConnectionSettings((address,)), None, Deadline(pace, 30), pace)
        assert asked == [4, 2 if told else 0]
        assert link.versions.choose(MetadataRequest) == 8
        link.close()


def test_several_requests_are_in_flight_and_answers_go_to_their_tickets() -> None:
    from tapelog.wire.messages.metadata_request import MetadataRequestTopic

    with FakeBroker(numbered) as broker:
        link = opened(broker)
        tickets = [
            link.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")] * n), MetadataResponse, 12, soon(link))
            for n in range(5)
        ]
        assert link.in_flight == 5
        assert link.receive(tickets[3], soon(link)).controller_id == 3
        assert link.in_flight == 1
        assert [link.receive(tickets[n], soon(link)).controller_id for n in (0, 1, 2, 4)] == [0, 1, 2, 4]


def test_records_are_slices_of_the_frame() -> None:
    records = b"r" * 1_000_000

    def fetch(request: Message, version: int) -> Answer:
        return FetchResponse(responses=[FetchableTopicResponse("t", b"\0" * 16, [PartitionData(records=records)])])

    with FakeBroker(fetch) as broker:
        link = opened(broker)
        found = link.call(FetchRequest(), FetchResponse, 13, soon(link)).responses[0].partitions[0].records
        assert isinstance(found, Slice) and found == records
        assert type(found.buf) is bytes and len(found.buf) < len(records) + 100


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((-1).to_bytes(4, "big", signed=True), "frame of -1 bytes"),
        (b"\x7f\xff\xff\xff", "frame of 2147483647 bytes"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "speaks TLS"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x63", "request 99"),
        (b"\x00\x00\x00\x05\x00\x00\x00\x02\x00", "malformed"),
        (b"HTTP/1.1 400 Bad Request\r\n", "frame of 1213486160 bytes"),
    ],
)
def test_what_is_no_answer_ends_the_link(answer: bytes, why: str) -> None:
    with FakeBroker(lambda request, version: answer) as broker:
        link = opened(broker)
        with pytest.raises(ProtocolError) as caught:
            ask(link)
        assert why in str(caught.value)
        assert link.over and not link.usable
        with pytest.raises(LinkError, match="is over"):
            ask(link)


def test_a_closed_connection_and_a_frame_cut_short_are_lost_links() -> None:
    for answer in (None, b"\x00\x00\x00\x50half"):
        with FakeBroker(lambda request, version, answer=answer: answer) as broker:
            link = opened(broker)
            if answer is not None:
                threading.Timer(0.05, broker.drop).start()
            with pytest.raises(LinkError, match="lost"):
                ask(link)
            assert link.over


def test_an_answer_that_does_not_come_in_time_ends_the_link() -> None:
    released = threading.Event()

    def late(request: Message, version: int) -> Answer:
        released.wait(30)
        return None

    with FakeBroker(late) as broker:
        link = opened(broker, request_timeout_ms=1000)
        with pytest.raises(LinkError, match="in time"):
            ask(link)
        assert link.over
        link = opened(broker)
        with pytest.raises(LinkError, match="in time"):
            ask(link, deadline=soon(link, 0.05))
        released.set()


def test_an_answer_that_lies_ready_is_not_late_however_long_we_took_to_ask_for_it() -> None:
    class Later(SystemPace):
        ahead = 0.0

        def now(self) -> float:
            return super().now() + self.ahead

    pace = Later()
    with FakeBroker(numbered) as broker:
        link = opened(broker, pace, request_timeout_ms=1000)
        ticket = link.send(MetadataRequest(topics=[]), MetadataResponse, 12, soon(link))
        pace.ahead = 3600.0
        assert link.receive(ticket, soon(link)).controller_id == 0


def test_a_throttled_client_is_silent_for_as_long_as_it_was_told() -> None:
    with FakeBroker(lambda request, version: MetadataResponse(throttle_time_ms=700)) as broker:
        pace = FakePace()
        link = opened(broker, pace)
        ask(link)
        assert pace.slept == []
        ask(link)
        assert pace.slept == [pytest.approx(0.7)]


def test_an_idle_link_knows_when_the_other_side_is_gone() -> None:
    with FakeBroker(numbered) as broker:
        link = opened(broker)
        assert link.usable
        ask(link)
        assert link.usable
        broker.drop()
        deadline = soon(link)
        while link.usable and deadline.left():
            pass
        assert not link.usable


def test_a_link_is_never_used_by_a_forked_process() -> None:
    with FakeBroker(numbered) as broker:
        link = opened(broker)
        child = os.fork()
        if child == 0:
            try:
                ask(link)
            except LinkError as error:
                os._exit(0 if "forked" in str(error) and not link.usable else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(link, 2) == 2  # and the child's end did not hurt it


def test_nobody_listens_and_no_such_name_are_told_apart() -> None:
    pace = SystemPace()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = Address("127.0.0.1", listener.getsockname()[1])
    for address, why in ((free, "refused"), (Address("no-such-host.invalid", 1), "resolved")):
        with pytest.raises(LinkError, match=why) as caught:
            open_link(address, ConnectionSettings((address,)), None, Deadline(pace, 2), pace)
        assert str(address) in str(caught.value) and caught.value.do


def test_every_error_can_be_carried_to_another_process() -> None:
    import pickle

    from tapelog.client.errors import OffsetOutOfRangeError, RefusedError, refusal

    for error in (
        LinkError("a", "b", "c"),
        refusal(29, "do it", "topic t"),
        refusal(6, "do it", "topic t", "why"),
        OffsetOutOfRangeError("t", 0, 5, 7, 9),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert isinstance(error, ClientError)
    assert isinstance(refusal(29, "do it", "topic t"), RefusedError)
    assert OffsetOutOfRangeError("t", 0, 5, 7, 9).below and not OffsetOutOfRangeError("t", 0, 10, 7, 9).below
