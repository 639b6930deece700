"""What holds for all messages: defaults, equality, tagged fields, and fields that a version cannot say."""

from __future__ import annotations

import pytest

from tapelog.wire.message import NOT_FLEXIBLE
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.request_header import RequestHeader
from tapelog.wire.primitives import ZERO_UUID, Reader, Slice, UnsupportedVersionError, WireError


def test_defaults_are_kafkas() -> None:
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.session_epoch, request.rack_id) == (-1, 0x7FFFFFFF, -1, "")
    assert request.topics == []
    assert FetchPartition().high_watermark == 2**63 - 1
    assert FetchTopic().topic_id == ZERO_UUID
    assert MetadataRequest().topics == []


def test_every_message_has_lists_of_its_own() -> None:
    FetchRequest().topics.append(FetchTopic())
    assert FetchRequest().topics == []


def test_messages_are_equal_by_class_and_fields_and_cannot_be_hashed() -> None:
    assert FetchTopic(topic="a") == FetchTopic(topic="a")
    assert FetchTopic(topic="a") != FetchTopic(topic="b")
    assert FetchTopic() != FetchPartition()
    with pytest.raises(TypeError):
        hash(FetchTopic())
    assert repr(ReplicaState(replica_id=3)) == "ReplicaState(replica_id=3, replica_epoch=-1)"


def test_constants_tell_key_and_versions() -> None:
    assert (FetchRequest.API_KEY, FetchRequest.MIN_VERSION, FetchRequest.MAX_VERSION) == (1, 4, 18)
    assert FetchRequest.FLEXIBLE_FROM == 12
    assert OffsetDeleteRequest.FLEXIBLE_FROM == NOT_FLEXIBLE
    assert (InitProducerIdRequest.MAX_VERSION, InitProducerIdRequest.STABLE_MAX) == (6, 5)


def test_a_field_that_matters_is_not_lost_silently() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"FetchRequest\.replica_id is set, and version 15"):
        FetchRequest(replica_id=3).tobytes(15)
    FetchRequest(replica_id=3).tobytes(14)
    with pytest.raises(UnsupportedVersionError, match="replica_state"):
        FetchRequest(replica_state=ReplicaState(replica_id=3)).tobytes(14)


def test_a_field_that_may_be_ignored_is_left_out() -> None:
    assert FetchRequest(session_id=9).tobytes(6) == FetchRequest().tobytes(6)


def test_null_is_refused_in_versions_without_it() -> None:
    assert MetadataRequest(topics=None).tobytes(1) == b"\xff\xff\xff\xff"
    with pytest.raises(WireError, match="topics is null"):
        MetadataRequest(topics=None).tobytes(0)


def test_tagged_structs_are_none_unless_sent() -> None:
    request = FetchRequest.decode(Reader(FetchRequest().tobytes(15)), 15)
    assert request.replica_state is None
    sent = FetchRequest(replica_state=ReplicaState(replica_id=3, replica_epoch=4), cluster_id="c")
    assert FetchRequest.decode(Reader(sent.tobytes(15)), 15) == sent


def test_unknown_tags_are_skipped_and_known_ones_held_to_their_size() -> None:
    plain = ApiVersionsResponse().tobytes(3)
    assert plain.endswith(b"\x00")
    body = plain[:-1]
    epoch = b"\x01\x08" + (7).to_bytes(8, "big")
    message = ApiVersionsResponse.decode(Reader(body + b"\x02" + epoch + b"\x64\x02??"), 3)
    assert message.finalized_features_epoch == 7
    too_long = b"\x01\x09" + (7).to_bytes(8, "big") + b"?"
    for tags in (b"\x01\x01\x07" + bytes(7), b"\x01" + too_long, b"\x02" + epoch, b"\xff\xff\xff\xff\x0f" + epoch):
        with pytest.raises(WireError):
            ApiVersionsResponse.decode(Reader(body + tags), 3)


def test_records_of_a_decoded_produce_are_a_view_and_go_out_again() -> None:
    data = PartitionProduceData(index=4, records=b"batch")
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[data])])
    frame = request.tobytes(9)
    decoded = ProduceRequest.decode(Reader(frame), 9)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, Slice)
    assert records.buf is frame
    assert decoded == request
    assert decoded.tobytes(9) == frame


def test_the_client_id_is_never_compact() -> None:
    header = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=1, client_id="me")
    assert header.tobytes(2) == b"\x00\x12\x00\x03\x00\x00\x00\x01\x00\x02me\x00"
