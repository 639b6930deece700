"""API keys, header versions, error codes: a few facts that everything rests on."""

from __future__ import annotations

import pytest

from tapelog.wire import catalog
from tapelog.wire.api_keys import (
    BROKER_APIS,
    CONTROLLER_APIS,
    NAMES,
    VERSIONS,
    ApiKey,
    request_header_version,
    response_header_version,
)
from tapelog.wire.errors import RETRIABLE, ErrorCode, KafkaError, error_code


def test_keys_have_their_numbers_and_names() -> None:
    assert (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.DELETE_SHARE_GROUP_OFFSETS) == (0, 1, 92)
    assert NAMES[ApiKey.OFFSET_FOR_LEADER_EPOCH] == "OffsetForLeaderEpoch"
    assert sorted(NAMES) == list(range(93))
    assert sorted(NAMES.keys() - VERSIONS.keys()) == [4, 5, 6, 7]
    assert VERSIONS[ApiKey.INIT_PRODUCER_ID] == (0, 5)
    assert ApiKey.FETCH in BROKER_APIS
    assert ApiKey.VOTE not in BROKER_APIS
    assert ApiKey.VOTE in CONTROLLER_APIS


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 99, 2, 0),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.OFFSET_DELETE, 0, 1, 0),
        (ApiKey.WRITE_TXN_MARKERS, 1, 2, 1),
        (999, 0, 1, 0),
    ],
)
def test_header_versions(key: int, version: int, request_header: int, response_header: int) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_the_catalog_finds_every_class() -> None:
    for key, (low, high) in VERSIONS.items():
        for found in (catalog.request_class(key), catalog.response_class(key)):
            assert key == found.API_KEY
            assert low == found.MIN_VERSION
            assert high >= found.STABLE_MAX or found.__name__.endswith("Response")
    with pytest.raises(KeyError):
        catalog.request_class(4)


def test_error_codes() -> None:
    assert ErrorCode.UNKNOWN_SERVER_ERROR == -1
    assert ErrorCode.INVALID_RECORD == 87
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))
    assert error_code(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_code(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in RETRIABLE
    assert ErrorCode.INVALID_RECORD not in RETRIABLE
    error = KafkaError(ErrorCode.INVALID_RECORD, "why")
    assert (error.code, error.message, str(error)) == (87, "why", "INVALID_RECORD: why")
    assert str(KafkaError(ErrorCode.NONE)) == "NONE"
