"""A toy server for the drivers: requests are read and answers written by an independent codec, on a thread."""

from __future__ import annotations

import importlib
import io
import socket
import struct
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta

Handler = Callable[[Any, Any], bytes]


def decode(data: bytes) -> tuple[Any, Any]:
    """Header and body of a request frame without its length; nothing may be left over."""
    api_key, version = struct.unpack_from(">hh", data)
    kind = load_request_schema(api_key, version)
    header, used = entity_reader(kind.__header_schema__)(data, 0)
    body, size = entity_reader(kind)(data, used)
    assert used + size == len(data)
    return header, body


def _frame(header: Any, body: Any) -> bytes:
    out, head = io.BytesIO(), type(body).__header_schema__
    entity_writer(head)(out, head(correlation_id=header.correlation_id))
    entity_writer(type(body))(out, body)
    return struct.pack(">i", len(out.getvalue())) + out.getvalue()


def _classes(header: Any) -> Any:
    kind = load_response_schema(header.request_api_key, header.request_api_version)
    return importlib.import_module(kind.__module__)


def produced(header: Any, request: Any, error: int = 0) -> bytes:
    """The answer to a Produce request."""
    m, (topic,) = _classes(header), request.topic_data
    extra = {"record_errors": ()} if header.request_api_version >= 8 else {}
    partition = m.PartitionProduceResponse(
        index=topic.partition_data[0].index, error_code=ErrorCode(error), base_offset=0, **extra
    )
    return _frame(
        header,
        m.ProduceResponse(responses=(m.TopicProduceResponse(name=topic.name, partition_responses=(partition,)),)),
    )


def fetched(header: Any, request: Any, records: bytes | None, high_watermark: int, error: int = 0) -> bytes:
    """The answer to a Fetch request for one partition."""
    m, (topic,) = _classes(header), request.topics
    partition = m.PartitionData(
        partition_index=topic.partitions[0].partition,
        error_code=ErrorCode(error),
        high_watermark=high_watermark,
        aborted_transactions=(),
        records=records,
    )
    response = m.FetchableTopicResponse(topic=topic.topic, partitions=(partition,))
    body = m.FetchResponse(
        error_code=ErrorCode(0), responses=(response,), throttle_time=i32Timedelta.parse(timedelta())
    )
    return _frame(header, body)


class Toy:
    """Listens on a free port; the handler turns a decoded request into the answer's bytes."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Toy:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as stream:
            while head := stream.read(4):
                peer.sendall(self.handler(*decode(stream.read(struct.unpack(">i", head)[0]))))
