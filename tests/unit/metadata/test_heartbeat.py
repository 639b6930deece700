"""From registration to shutdown: heartbeats, sessions, fencing, restarts."""

from __future__ import annotations

import pytest

from tapelog.metadata.image import NO_LEADER
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tests.unit.metadata.desk import SESSION_MS, Desk, directory


def test_a_broker_is_unfenced_once_it_has_applied_its_own_registration() -> None:
    desk = Desk()
    epoch = desk.register(1)
    early = desk.heartbeat(1, offset=epoch - 1)
    assert (early.is_caught_up, early.is_fenced) == (False, True)
    late = desk.heartbeat(1, offset=epoch)
    assert (late.is_caught_up, late.is_fenced, late.should_shut_down) == (True, False, False)
    assert not desk.image.brokers[1].fenced


def test_a_broker_that_asks_to_stay_fenced_stays_fenced() -> None:
    desk = Desk()
    desk.register(1)
    assert desk.heartbeat(1, fence=True).is_fenced
    assert desk.image.brokers[1].fenced


def test_a_broker_that_asks_to_be_fenced_leads_nothing() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2])
    assert desk.heartbeat(1, fence=True).is_fenced
    assert desk.state() == (2, (2,), ())


@pytest.mark.parametrize(("id", "code"), [(9, ErrorCode.BROKER_ID_NOT_REGISTERED), (1, ErrorCode.STALE_BROKER_EPOCH)])
def test_only_the_registered_incarnation_is_heard(id: int, code: ErrorCode) -> None:
    desk = Desk(brokers=1)
    request = BrokerHeartbeatRequest(broker_id=id, broker_epoch=12345)
    with pytest.raises(KafkaError) as caught:
        desk.run(lambda image: desk.controller.broker_heartbeat(image, request))
    assert caught.value.code == code


def test_a_silent_broker_is_fenced_when_its_session_ends_and_not_before() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2])
    desk.clock.now_ms += SESSION_MS
    desk.beat(2)
    desk.tick()
    assert desk.state() == (1, (1, 2), ())
    desk.wait(1)
    assert desk.image.brokers[1].fenced
    assert desk.state() == (2, (2,), ())


def test_brokers_that_fall_silent_together_do_not_hand_leads_to_each_other() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2, 3])
    desk.silence(1, 2)
    assert desk.state() == (3, (3,), ())
    desk.silence(3)
    assert desk.state() == (NO_LEADER, (), (3,))


def test_all_silent_at_once_all_stay_eligible() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2, 3])
    desk.silence(1, 2, 3)
    assert desk.state() == (NO_LEADER, (), (1, 2, 3))
    desk.beat(2)
    assert desk.state() == (2, (2,), ())


def test_a_fenced_broker_that_is_heard_again_comes_back() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1])
    desk.silence(1)
    assert desk.state() == (NO_LEADER, (), (1,))
    desk.beat(1)
    assert desk.state() == (1, (1,), ())
    assert desk.partition().leader_epoch == 2


def test_a_new_controller_gives_everybody_a_full_session() -> None:
    desk = Desk(brokers=2)
    desk.clock.now_ms += SESSION_MS - 1
    desk.controller.resign()
    desk.controller.activate(desk.image)
    desk.wait(SESSION_MS)
    assert not desk.image.brokers[1].fenced
    desk.wait(1)
    assert desk.image.brokers[1].fenced


def test_the_silence_of_the_controller_before_counts() -> None:
    desk = Desk(brokers=2)
    heard_ms = desk.clock.now_ms
    desk.clock.now_ms += 3000
    desk.controller.resign()
    desk.controller.activate(desk.image, (1, heard_ms))
    desk.wait(SESSION_MS - 3000)
    assert not desk.image.brokers[1].fenced
    desk.wait(1)
    assert desk.image.brokers[1].fenced
    assert not desk.image.brokers[2].fenced, "of everybody else nothing is known"


def test_the_controller_before_has_the_time_of_a_heartbeat_to_say_that_it_lives() -> None:
    interval_ms = 2000
    desk = Desk(brokers=2, settings={"broker.heartbeat.interval.ms": str(interval_ms)})
    heard_ms = desk.clock.now_ms
    desk.clock.now_ms += 10 * SESSION_MS
    desk.controller.activate(desk.image, (1, heard_ms))
    desk.wait(interval_ms)
    assert not desk.image.brokers[1].fenced
    desk.beat(1)
    desk.wait(SESSION_MS)
    assert not desk.image.brokers[1].fenced
    desk.controller.activate(desk.image, (1, heard_ms))
    desk.wait(interval_ms + 1)
    assert desk.image.brokers[1].fenced


def test_a_controller_before_that_is_no_broker_has_no_session() -> None:
    desk = Desk(brokers=1)
    desk.controller.activate(desk.image, (9, 0))
    desk.wait(SESSION_MS)
    assert not desk.image.brokers[1].fenced


def test_the_next_upkeep_is_due_when_the_next_session_ends() -> None:
    desk = Desk(brokers=2)
    desk.clock.now_ms += 1000
    desk.beat(2)
    desk.tick()
    assert desk.controller.upkeep.due_ms(desk.image) == desk.clock.now_ms - 1000 + SESSION_MS + 1


def test_a_controlled_shutdown_moves_leads_and_waits_until_all_have_heard() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2, 3], [2, 1, 3])
    first = desk.heartbeat(1, stop=True)
    assert (first.is_fenced, first.should_shut_down) == (False, False)
    assert desk.image.brokers[1].in_controlled_shutdown
    assert desk.state() == (2, (2, 3), ())
    assert desk.state(index=1) == (2, (2, 3), ())
    assert not desk.heartbeat(1, stop=True).should_shut_down
    desk.beat(2)
    assert not desk.heartbeat(1, stop=True).should_shut_down
    desk.beat(3)
    last = desk.heartbeat(1, stop=True)
    assert (last.is_fenced, last.should_shut_down) == (True, True)
    assert desk.image.brokers[1].fenced


def test_a_broker_that_leads_nothing_may_go_at_once() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [2, 1])
    assert desk.heartbeat(1, stop=True).should_shut_down
    assert desk.state() == (2, (2,), ())


def test_a_fenced_broker_may_go_at_once() -> None:
    desk = Desk()
    desk.register(1)
    answer = desk.heartbeat(1, stop=True)
    assert (answer.is_fenced, answer.should_shut_down) == (True, True)


def test_the_only_replica_goes_in_good_order_and_leads_again_when_it_is_back() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1])
    desk.heartbeat(1, stop=True)
    assert desk.state() == (NO_LEADER, (), (1,))
    desk.beat(2)
    assert desk.heartbeat(1, stop=True).should_shut_down
    desk.register(1, incarnation=2, previous=desk.image.brokers[1].epoch)
    desk.beat(1)
    assert desk.state() == (1, (1,), ())


def test_a_shutdown_begun_under_another_controller_ends_under_this_one() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2])
    desk.heartbeat(1, stop=True)
    desk.controller.resign()
    desk.controller.activate(desk.image)
    assert not desk.heartbeat(1, stop=True).should_shut_down
    desk.beat(2)
    assert desk.heartbeat(1, stop=True).should_shut_down


def test_a_failed_directory_costs_its_replicas_their_leads() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2])
    epoch = desk.image.brokers[1].epoch
    registration = desk.registration(1)
    registration.log_dirs = [directory(1), directory(1, disk=2)]
    desk.run(lambda image: desk.controller.register_broker(image, registration))
    assert desk.image.brokers[1].epoch == epoch
    request = BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=epoch, current_metadata_offset=99, offline_log_dirs=[directory(1)]
    )
    desk.run(lambda image: desk.controller.broker_heartbeat(image, request))
    assert desk.state() == (2, (2,), ())
    assert desk.image.brokers[1].log_dirs == (directory(1, disk=2),)


def test_cordoned_directories_are_kept_and_lifted() -> None:
    desk = Desk(brokers=1)
    epoch = desk.image.brokers[1].epoch
    for cordoned in ([directory(1)], []):
        request = BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=epoch, current_metadata_offset=99, cordoned_log_dirs=cordoned
        )
        assert desk.written(lambda image, r=request: desk.controller.broker_heartbeat(image, r)) == 1
        assert desk.written(lambda image, r=request: desk.controller.broker_heartbeat(image, r)) == 0
        assert desk.image.brokers[1].cordoned_log_dirs == tuple(cordoned)
