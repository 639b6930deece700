"""Requests for the controller: which listener serves what, and how envelopes are filled and opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.server.forward import address_bytes, address_text, mentions, principal_bytes, principal_text
from tapelog.server.routes import FORWARDED, ON_BOTH, ON_BROKER, ON_CONTROLLER, ROUTES, served
from tapelog.sim.client import SimClient
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tapelog.wire.messages.describe_cluster_request import DescribeClusterRequest
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.envelope_request import EnvelopeRequest
from tapelog.wire.messages.envelope_response import EnvelopeResponse
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.list_groups_request import ListGroupsRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.primitives import Reader, Writer
from tests.support.rig import Rig

CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)], timeout_ms=1000)


def request_bytes(request: Message, version: int, correlation: int = 77) -> bytes:
    """Header and body, as a client's frame holds them."""
    writer = Writer()
    writer.i16(request.API_KEY)
    writer.i16(version)
    writer.i32(correlation)
    writer.nullable_string("app")
    writer.uvarint(0)
    request.encode(writer, version)
    return writer.tobytes()


def controller_side(rig: Rig) -> SimClient:
    """A connection to the controller's listener."""
    client = rig.connect()
    client.connection.side = ON_CONTROLLER
    return client


def envelope(request: Message, version: int) -> EnvelopeRequest:
    return EnvelopeRequest(
        request_data=request_bytes(request, version),
        request_principal=principal_bytes("User:ann"),
        client_host_address=bytes((10, 1, 2, 3)),
    )


def test_a_request_in_an_envelope_is_run_and_its_answer_comes_back_as_bytes() -> None:
    rig = Rig()
    response = controller_side(rig).call(envelope(CREATE, 7), 0)
    assert response.error_code == 0
    reader = Reader(response.response_data, 0, len(response.response_data))
    assert reader.i32() == 77
    reader.skip_tags()
    assert CreateTopicsResponse.decode(reader, 7).topics[0].error_code == 0
    assert reader.pos == reader.end
    assert rig.node.core is not None and "t" in rig.node.core.image.topics


def test_a_node_that_is_not_the_active_controller_says_so() -> None:
    rig = Rig()
    assert rig.node.core is not None
    rig.node.core.controls = False
    assert controller_side(rig).call(envelope(CREATE, 7), 0).error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        (request_bytes(ListGroupsRequest(), 4), ErrorCode.INVALID_REQUEST),
        (b"", ErrorCode.INVALID_REQUEST),
        (request_bytes(CREATE, 7)[:-9], ErrorCode.INVALID_REQUEST),
        (b"\0\x13\0\x63" + request_bytes(CREATE, 7)[4:], ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=["not forwarded", "nothing", "cut short", "unknown version"],
)
def test_an_envelope_with_something_strange_inside_is_refused(inside: bytes, code: ErrorCode) -> None:
    strange = EnvelopeRequest(inside, principal_bytes("User:ann"), bytes(4))
    assert controller_side(Rig()).call(strange, 0).error_code == code


@pytest.mark.parametrize(
    "strange",
    [
        EnvelopeRequest(request_bytes(CREATE, 7), None, bytes(4)),
        EnvelopeRequest(request_bytes(CREATE, 7), b"\0\1abc", bytes(4)),
        EnvelopeRequest(request_bytes(CREATE, 7), principal_bytes("User:a"), bytes(5)),
    ],
    ids=["nobody", "another kind of principal", "no address"],
)
def test_an_envelope_of_nobody_is_refused(strange: EnvelopeRequest) -> None:
    assert controller_side(Rig()).call(strange, 0).error_code == ErrorCode.INVALID_REQUEST


def _captured(rig: Rig) -> list[tuple[Message, Callable[[Message | KafkaError], None]]]:
    """Make the node a broker whose controller is elsewhere; what it sends there ends here."""
    core = rig.node.core
    assert core is not None
    core.controls = False
    sent: list[tuple[Message, Callable[[Message | KafkaError], None]]] = []
    remote: Any = core.remote
    remote.to_controller = lambda request, version, timeout_ms, done: sent.append((request, done))
    return sent


def test_a_broker_carries_the_request_to_the_controller_as_it_is_and_the_answer_back() -> None:
    rig = Rig()
    sent = _captured(rig)
    answers = rig.later(CREATE, 7)
    ((carried, done),) = sent
    assert isinstance(carried, EnvelopeRequest)
    assert principal_text(carried.request_principal) == "User:ANONYMOUS"
    assert address_text(carried.client_host_address) == "127.0.0.1"
    reader = Reader(carried.request_data, 0, len(carried.request_data))
    key, version, correlation = reader.i16(), reader.i16(), reader.i32()
    assert (key, version) == (19, 7)
    writer = Writer()
    writer.i32(correlation)
    writer.uvarint(0)
    told = CreateTopicsResponse(topics=[CreatableTopicResult(name="t")])
    told.encode(writer, 7)
    done(EnvelopeResponse(response_data=writer.tobytes()))
    rig.node.settle()
    assert answers == [told]


@pytest.mark.parametrize(
    "outcome",
    [KafkaError(ErrorCode.REQUEST_TIMED_OUT, ""), EnvelopeResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION))],
)
def test_a_request_no_controller_took_costs_the_connection_where_no_error_fits(outcome: Message | KafkaError) -> None:
    rig = Rig()
    sent = _captured(rig)
    rig.later(CREATE, 7)
    sent[0][1](outcome)
    rig.node.settle()
    assert rig.client.connection.closed


def test_an_answer_after_the_client_has_left_harms_nobody() -> None:
    rig = Rig()
    sent = _captured(rig)
    rig.later(CREATE, 7)
    rig.client.hang_up()
    sent[0][1](EnvelopeResponse(response_data=b"\0\0\0\1\0"))
    rig.node.settle()
    assert rig.connect().call(MetadataRequest(topics=[]), 9).brokers


# -- listeners


def test_each_listener_tells_and_serves_its_own_apis() -> None:
    rig = Rig()
    asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    for client, side in ((rig.client, ON_BROKER), (controller_side(rig), ON_CONTROLLER)):
        told = [entry.api_key for entry in client.call(asked, 3).api_keys]
        assert told == [route.api_key for route in served(side)]
    assert 63 not in [route.api_key for route in served(ON_BROKER)]
    assert 0 not in [route.api_key for route in served(ON_CONTROLLER)]


def test_a_controllers_listener_serves_every_version_of_the_quorums_apis_that_it_tells() -> None:
    rig = Rig()
    asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    told = {entry.api_key: entry for entry in controller_side(rig).call(asked, 3).api_keys}
    kinds = [FetchRequest, VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchSnapshotRequest]
    for kind in kinds:
        entry = told[kind.API_KEY]
        for version in range(entry.min_version, entry.max_version + 1):
            client = controller_side(rig)
            answer = client.call(kind(), version)
            assert answer.error_code == ErrorCode.INVALID_REQUEST, (kind, version)  # it asks for nothing at all
    assert (told[1].min_version, told[52].min_version, told[53].min_version) == (12, 0, 0)


def test_what_a_listener_does_not_serve_costs_the_connection() -> None:
    rig = Rig()
    rig.later(BrokerHeartbeatRequest(), 1)
    assert rig.client.connection.closed
    client = controller_side(rig)
    rig.later(MetadataRequest(topics=[]), 9, client)
    assert client.connection.closed


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_a_controllers_listener_knows_controllers_and_a_brokers_brokers(kind: int) -> None:
    rig = Rig()
    client = controller_side(rig)
    client.connection.listener = "CONTROLLER"
    asked = DescribeClusterRequest(endpoint_type=kind)
    told = client.call(asked, 2)
    expected = {1: ErrorCode.MISMATCHED_ENDPOINT_TYPE, 2: ErrorCode.NONE, 3: ErrorCode.UNSUPPORTED_ENDPOINT_TYPE}
    assert told.error_code == expected[kind]
    if kind == 2:
        assert (told.controller_id, told.endpoint_type) == (1, 2)
        assert [(found.broker_id, found.host, found.port) for found in told.brokers] == [(1, "127.0.0.1", 9093)]
    assert rig.client.call(asked, 2).error_code == (0 if kind == 1 else 114 if kind == 2 else 115)


def test_the_column_is_one_of_four() -> None:
    assert {route.on for route in ROUTES if route is not None} <= {ON_BROKER, ON_CONTROLLER, ON_BOTH, FORWARDED}


# -- what travels in envelopes


@pytest.mark.parametrize("text", ["127.0.0.1", "255.0.10.3", "0:0:0:0:0:0:0:1", "fe80:0:0:0:1:2:3:4"])
def test_addresses_travel_as_bytes(text: str) -> None:
    assert address_text(address_bytes(text)) == text


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1"),
        ("::ffff:1.2.3.4", "0:0:0:0:0:ffff:102:304"),
        ("not an address", "0.0.0.0"),
    ],
)
def test_short_forms_of_addresses_are_read(text: str, full: str) -> None:
    assert address_text(address_bytes(text)) == full


@pytest.mark.parametrize("principal", ["User:ANONYMOUS", "User:CN=ann,OU=x:y"])
def test_principals_travel(principal: str) -> None:
    assert principal_text(principal_bytes(principal)) == principal


def test_not_controller_is_found_wherever_it_is() -> None:
    code = int(ErrorCode.NOT_CONTROLLER)
    assert mentions(EnvelopeResponse(error_code=code), code)
    assert mentions(CreateTopicsResponse(topics=[CreatableTopicResult(error_code=code)]), code)
    assert not mentions(CreateTopicsResponse(topics=[CreatableTopicResult(error_code=1)]), code)
