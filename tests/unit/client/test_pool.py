"""Links outlive tasks, not processes: kept by settings, closed when idle or too many, never shared by a fork."""

from __future__ import annotations

import os
import pickle

import pytest

from tapelog.client import pool
from tapelog.client.pool import KEPT_MAX, Pool
from tapelog.client.settings import ConnectionSettings
from tests.unit.client.fake_cluster import TOPIC, FakeCluster


def settings_of(fake: FakeCluster, client_id: str = "me") -> ConnectionSettings:
    return ConnectionSettings(tuple(broker.address for broker in fake.brokers.values()), client_id=client_id)


def test_the_next_task_finds_the_links_and_the_knowledge_of_the_last() -> None:
    with FakeCluster() as fake:
        kept = Pool(fake.pace)
        settings = settings_of(fake)
        with kept.lend(settings) as cluster:
            cluster.topic(TOPIC)
        with kept.lend(pickle.loads(pickle.dumps(settings))) as again:
            assert again is cluster
            again.topic(TOPIC)
        assert fake.brokers[1].connections == 1 and len(fake.brokers[1].asked) == 1
        with kept.lend(settings_of(fake, "other")) as other:
            assert other is not cluster


def test_two_tasks_at_once_never_share_a_cluster() -> None:
    with FakeCluster() as fake:
        kept = Pool(fake.pace)
        with kept.lend(settings_of(fake)) as one, kept.lend(settings_of(fake)) as two:
            assert one is not two
            one.topic(TOPIC)
            two.topic(TOPIC)
        assert kept.idle == 2


def test_a_link_with_an_answer_to_come_is_not_kept() -> None:
    from tapelog.wire.messages.metadata_request import MetadataRequest
    from tapelog.wire.messages.metadata_response import MetadataResponse

    with FakeCluster() as fake:
        kept = Pool(fake.pace)
        with pytest.raises(RuntimeError), kept.lend(settings_of(fake)) as cluster:
            deadline = cluster.deadline()
            cluster.any_link(deadline).send(MetadataRequest(), MetadataResponse, 12, deadline)
            raise RuntimeError("the task was cancelled")
        assert kept.idle == 0


def test_what_lay_idle_or_was_cut_is_not_lent_again() -> None:
    with FakeCluster() as fake:
        kept = Pool(fake.pace)
        with kept.lend(settings_of(fake)) as cluster:
            cluster.topic(TOPIC)
        fake.pace.seconds += 541
        with kept.lend(settings_of(fake)) as later:
            assert later is not cluster and cluster.links == []
            later.topic(TOPIC)
        fake.brokers[1].drop()
        while later.links and later.links[0].usable:
            pass
        with kept.lend(settings_of(fake)) as last:
            assert last is not later
            last.topic(TOPIC)


def test_there_is_a_bound() -> None:
    with FakeCluster() as fake:
        kept = Pool(fake.pace)
        clusters = []
        for number in range(KEPT_MAX + 3):
            with kept.lend(settings_of(fake, f"client-{number}")) as cluster:
                cluster.topic(TOPIC)
            clusters.append(cluster)
        assert kept.idle == KEPT_MAX
        assert [bool(cluster.links) for cluster in clusters] == [False] * 3 + [True] * KEPT_MAX
        kept.close()
        assert kept.idle == 0


def test_a_forked_worker_begins_with_an_empty_pool_and_leaves_its_parents_links_alone() -> None:
    with FakeCluster() as fake:
        settings = settings_of(fake)
        with pool.lend(settings) as cluster:
            cluster.topic(TOPIC)
        with pool.lend(settings_of(fake, "other")) as other:
            other.topic(TOPIC)
        with pool.lend(settings) as lent:
            assert lent is cluster and pool._POOL.idle == 1
            lock = pool._POOL._lock
            lock.acquire()  # a fork may come while another thread is in the pool
            child = os.fork()
            if child == 0:
                try:
                    empty = pool._POOL._kept == []  # at once: its sockets must not outlive the parent's here
                    with pool.lend(settings) as own:
                        own.topic(TOPIC)
                        good = empty and own is not lent and pool._POOL.idle == 0 and not lent.tidy()
                    os._exit(0 if good and pool._POOL.idle == 1 else 1)
                finally:
                    os._exit(2)
            lock.release()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with pool.lend(settings) as again:
            assert again is cluster
            again.forget()
            again.topic(TOPIC)
        assert fake.brokers[1].connections == 3
        pool._POOL.close()
