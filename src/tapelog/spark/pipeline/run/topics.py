"""Topics of a run: those that sinks may make where they are missing, and how much there is to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapelog.client.cluster import Cluster
from tapelog.client.errors import refusal
from tapelog.client.pace import Deadline
from tapelog.client.pool import lend
from tapelog.spark.pipeline.model import TopicSink, TopicSource
from tapelog.spark.pipeline.references import References
from tapelog.spark.plan.connection import connection_settings
from tapelog.spark.plan.given import Given
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.create_topics_response import CreateTopicsResponse

LOOK_S_MAX = 20.0
_TIMEOUT_MS = 30_000


def make_missing(sinks: Iterable[TopicSink], references: References) -> list[str]:
    """Make the topics that may be made and are not there; their names. ClientError: one that must be there is not."""
    made = []
    for sink in sinks:
        options = references.options(sink.options)
        settings, _ = connection_settings(Given(options))
        with lend(settings) as cluster:
            if not sink.partitions:
                _look(cluster, [options["topic"]])
            elif create_topic(cluster, options["topic"], sink.partitions):
                made.append(options["topic"])
    return made


def check_there(sources: Iterable[TopicSource], references: References) -> None:
    """ClientError, unless the cluster answers and has the topics that are named."""
    for source in sources:
        options = references.options(source.options)
        settings, _ = connection_settings(Given(options))
        with lend(settings) as cluster:
            _look(cluster, _named(options))


def _look(cluster: Cluster, names: list[str]) -> None:
    """Whoever waits at a terminal is told of a cluster that is down before a minute has passed."""
    cluster.topics(names, cluster.deadline(min(LOOK_S_MAX, cluster.settings.api_timeout_ms / 1000)))


def create_topic(cluster: Cluster, name: str, partitions: int) -> bool:
    """Make a topic with the cluster's own number of replicas; False: it is there."""
    limit = cluster.deadline()
    return cluster.retry(f"make topic {name}", lambda: _create(cluster, name, partitions, limit), limit)


def _create(cluster: Cluster, name: str, partitions: int, deadline: Deadline) -> bool:
    link = cluster.any_link(deadline)
    version = link.versions.choose(CreateTopicsRequest)
    wanted = CreatableTopic(name, partitions, -1, [], [])
    request = CreateTopicsRequest([wanted], timeout_ms=_TIMEOUT_MS, validate_only=False)
    answer = link.call(request, CreateTopicsResponse, version, deadline).topics[0]
    if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return False
    if answer.error_code:
        raise refusal(answer.error_code, f"make topic {name}", f"topic {name}", answer.error_message)
    return True


def waiting(sources: Mapping[str, TopicSource], references: References) -> dict[str, int]:
    """The sum of the newest offsets of each source's partitions; absent where the cluster does not say."""
    from tapelog.client import offsets
    from tapelog.client.errors import ClientError
    from tapelog.client.metadata import TopicPartition

    found = {}
    for name, source in sources.items():
        options = references.options(source.options)
        topics = _named(options)
        try:
            settings, _ = connection_settings(Given(options))
            with lend(settings) as cluster:
                infos = cluster.topics(topics)
                every = [TopicPartition(t, one.partition) for t, info in infos.items() for one in info.partitions]
                found[name] = sum(offsets.latest(cluster, every, offsets.READ_UNCOMMITTED).values())
        except ClientError:
            continue
    return found


def _named(options: Mapping[str, str]) -> list[str]:
    return [topic.strip() for topic in options.get("subscribe", "").split(",") if topic.strip()]
