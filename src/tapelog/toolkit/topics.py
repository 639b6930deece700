"""Topics that must be there before a loop starts."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.toolkit.clients import Cluster, cluster_config, kafka_error

log = logging.getLogger(__name__)

ADMIN_S_MAX = 30.0


def ensure_topics(cluster: Cluster, wanted: Mapping[str, str]) -> list[str]:
    """Create the topics that are missing, each with as many partitions as the one it is named with; who was created.

    Replication is the cluster's default. Where creating is not allowed that is logged: somebody else has to.
    """
    if not wanted:
        return []
    admin = AdminClient(cluster_config(cluster))
    known = admin.list_topics(timeout=ADMIN_S_MAX).topics
    missing = {name: like for name, like in wanted.items() if name not in known}
    new = [NewTopic(name, len(known[like].partitions) if like in known else -1) for name, like in missing.items()]
    created = []
    for name, future in (admin.create_topics(new, request_timeout=ADMIN_S_MAX) if new else {}).items():
        try:
            future.result()
        except KafkaException as exception:
            error = kafka_error(exception)
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                log.warning("topic %s could not be created: %s", name, error.str())
        else:
            created.append(name)
    return created
