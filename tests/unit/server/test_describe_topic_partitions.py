"""DescribeTopicPartitions answers a page at a time, whose size max.request.partition.size.limit bounds."""

from __future__ import annotations

from tapelog.wire.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from tests.support.rig import TOPIC, Rig


def test_a_page_has_no_more_partitions_than_the_broker_allows() -> None:
    rig = Rig(max_request_partition_size_limit="2")
    rig.create(TOPIC, 5)
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=TOPIC)], response_partition_limit=2000)
    answer = rig.client.call(request, 0)
    assert [part.partition_index for part in answer.topics[0].partitions] == [0, 1]
    assert answer.next_cursor.partition_index == 2
