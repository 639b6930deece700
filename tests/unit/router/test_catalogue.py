"""What the router knows: learned from answers, doubted when nodes refuse, never going back in leader epochs."""

from __future__ import annotations

from tapelog.router.catalogue import GROUP, Catalogue, _intersection
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID, OTHER_ID = b"\1" * 16, b"\2" * 16
NODES = [MetadataResponseBroker(1, "a", 9), MetadataResponseBroker(2, "b", 9)]


def told(leader: int, epoch: int, topic_id: bytes = ID, error: int = 0) -> MetadataResponse:
    part = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    topic = MetadataResponseTopic(error_code=error, name="t", topic_id=topic_id, partitions=[part])
    return MetadataResponse(brokers=NODES, topics=[topic])


def test_leaders_are_known_by_name_and_by_id() -> None:
    known = Catalogue([])
    known.learn(told(1, 5))
    assert known.leader("t", 0) == known.leader(ID, 0) == 1
    assert known.leader("t", 1) == known.leader("u", 0) == known.leader(OTHER_ID, 0) == -1
    assert known.knows("t") and known.knows(ID) and not known.knows("u")


def test_old_news_from_a_node_that_lags_behind_is_not_believed() -> None:
    known = Catalogue([])
    known.learn(told(2, 6))
    known.learn(told(1, 5))
    assert known.leader("t", 0) == 2
    known.learn_leader("t", 0, 7, 1)
    assert known.leader("t", 0) == 1
    known.learn_leader("t", 0, 6, 2)
    assert known.leader("t", 0) == 1
    known.learn_leader("t", 0, 8, 9)
    assert known.leader("t", 0) == 1, "nobody knows a node 9"


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    known = Catalogue([])
    known.learn(told(2, 60))
    known.learn(told(1, 0, OTHER_ID))
    assert known.leader("t", 0) == known.leader(OTHER_ID, 0) == 1
    assert not known.knows(ID)
    known.learn(told(1, 0, OTHER_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert not known.knows("t")


def test_what_a_node_refuses_is_doubted_and_so_is_everything_of_a_lost_node() -> None:
    known = Catalogue([])
    known.learn(told(1, 5))
    known.doubt(ID, 0)
    assert known.leader("t", 0) == -1 and known.knows("t")
    known.learn(told(1, 5))
    answer = FindCoordinatorResponse(coordinators=[Coordinator("g", 1, "a", 9), Coordinator("h", 2, "b", 9)])
    known.learn_coordinators(GROUP, answer, "")
    known.doubt_node(1)
    assert known.leader("t", 0) == -1
    assert known._coordinators == {(GROUP, "h"): 2}


def test_coordinators_in_the_older_form_and_those_that_are_not_there() -> None:
    known = Catalogue([])
    known.learn_coordinators(GROUP, FindCoordinatorResponse(node_id=2, host="b", port=9), "g")
    assert known._coordinators == {(GROUP, "g"): 2} and known.nodes == {2: ("b", 9)}
    gone = FindCoordinatorResponse(error_code=int(ErrorCode.COORDINATOR_NOT_AVAILABLE), node_id=-1)
    known.learn_coordinators(GROUP, gone, "g")
    assert known._coordinators == {}


def test_only_what_all_nodes_serve_is_offered() -> None:
    assert _intersection({0: (3, 13), 1: (4, 17), 2: (1, 2)}, {0: (0, 11), 2: (3, 9)}) == {0: (3, 11)}
