"""What the codec costs, in microseconds, by whichever hot path is installed.

Usage: PYTHONPATH=src python codegen/measure.py     (TAPELOG_HOT=interpreted|compiled chooses, as everywhere)

Each figure is the best of many short runs, so that a busy machine spoils little. ADR 0003 has its figures from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tapelog.wire import reader
from tapelog.wire import record_batch as rb
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tapelog.wire.primitives import ZERO_UUID, Reader, Writer

RUNS = 200
TOPIC_ID = bytes(range(16))
BATCH = rb.build_batch([rb.Record(0, 1000, b"k", b"v" * 100)])
BATCH_100 = rb.build_batch([rb.Record(0, 1000, b"k", b"v" * 100)] * 100)


def best(work: Callable[[], object], calls: int = 200) -> float:
    """Microseconds per call, at best."""
    least = 1e9
    for _ in range(RUNS):
        began = time.perf_counter()
        for _ in range(calls):
            work()
        least = min(least, (time.perf_counter() - began) / calls)
    return least * 1e6


def report(name: str, work: Callable[[], object], calls: int = 200) -> None:
    """Measure and print, without the cost of the loop."""
    print(f"{name:40}{best(work, calls) - best(lambda: None, calls):8.2f}")


def named(version: int, since: int) -> tuple[str, bytes]:
    """Topic name or id, as the version has it."""
    return ("", TOPIC_ID) if version >= since else ("orders", ZERO_UUID)


def decode(name: str, message: Message, version: int, calls: int = 200) -> None:
    """Measure decoding, the Reader included."""
    data = message.tobytes(version)
    read = type(message).decode
    report(f"{name} v{version} decode", lambda: read(Reader(data, 0, len(data)), version), calls)


def encode(name: str, message: Message, version: int, calls: int = 200) -> None:
    """Measure encoding into a new Writer."""
    report(f"{name} v{version} encode", lambda: message.encode(Writer(), version), calls)


def produce(version: int) -> None:
    """One partition, one small batch."""
    name, topic_id = named(version, 13)
    data = [PartitionProduceData(index=1, records=BATCH)]
    topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=data)
    decode("ProduceRequest", ProduceRequest(acks=-1, timeout_ms=3000, topic_data=[topic]), version)
    answers = [PartitionProduceResponse(index=1, base_offset=77, log_start_offset=0)]
    answer = TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=answers)
    encode("ProduceResponse", ProduceResponse(responses=[answer]), version)


def fetch(version: int) -> None:
    """One partition, one small batch."""
    name, topic_id = named(version, 13)
    partitions = [FetchPartition(partition=1, fetch_offset=10, partition_max_bytes=1 << 20)]
    topic = FetchTopic(topic=name, topic_id=topic_id, partitions=partitions)
    decode("FetchRequest", FetchRequest(max_wait_ms=500, min_bytes=1, session_id=5, topics=[topic]), version)
    data = [PartitionData(partition_index=1, high_watermark=100, aborted_transactions=None, records=BATCH)]
    answer = FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=data)
    encode("FetchResponse", FetchResponse(session_id=5, responses=[answer]), version)


def metadata() -> None:
    """A hundred partitions with three replicas each (never compiled)."""
    partitions = [
        MetadataResponsePartition(partition_index=i, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
        for i in range(100)
    ]
    topic = MetadataResponseTopic(name="orders", topic_id=TOPIC_ID, partitions=partitions)
    brokers = [MetadataResponseBroker(node_id=i, host="localhost", port=9092) for i in range(3)]
    message = MetadataResponse(brokers=brokers, cluster_id="c", topics=[topic])
    encode("MetadataResponse, 100 partitions,", message, 12, 10)
    decode("MetadataResponse, 100 partitions,", message, 12, 10)


def main() -> None:
    """All figures."""
    print(reader.__file__)
    for version in (9, 12, 13):
        produce(version)
    for version in (12, 17, 18):
        fetch(version)
    metadata()
    report("batch of 170 bytes: CRC", lambda: rb.crc_ok(BATCH, 0, len(BATCH)))
    report("batch: header", lambda: rb.BatchHeader(BATCH, 0, len(BATCH)))
    report("batch of 100 records: iterate", lambda: list(rb.iterate(BATCH_100, 0, len(BATCH_100))), 10)
    records = [rb.Record(0, 1000, b"k", b"v" * 100)] * 100
    report("batch of 100 records: build", lambda: rb.build_batch(records), 10)


if __name__ == "__main__":
    main()
