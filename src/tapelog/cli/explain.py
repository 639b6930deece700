"""Kafka errors in plain words, each with what to do next. Pure; used by `connect.py` and the commands."""

from __future__ import annotations

from confluent_kafka import KafkaError

from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_UNREACHABLE, CliError

_UNREACHABLE = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
)
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_ID)

_LIVE_MEMBERS = "the group has live members: stop them first; `tape group describe {group}` names them"

_HINTS = {
    KafkaError.TOPIC_ALREADY_EXISTS: "`tape topic describe {topic}` shows it; --if-not-exists makes this no error",
    KafkaError.TOPIC_EXCEPTION: "names are 1 to 249 of A-Z a-z 0-9 . _ - and not `.` or `..`",
    KafkaError.INVALID_PARTITIONS: "give --partitions a larger number: partitions can be added, never removed",
    KafkaError.INVALID_REPLICATION_FACTOR: "--replicas cannot exceed the number of brokers; leave it out, perhaps",
    KafkaError.INVALID_CONFIG: "`tape config describe topic NAME --all` lists every name with its value",
    KafkaError.POLICY_VIOLATION: "the cluster's policy forbids it: is its storage bound reached (`tape topic usage "
    "{topic}`), is it under a hold (tapelog.tier.hold: `tape topic describe {topic}`)?",
    KafkaError.NON_EMPTY_GROUP: _LIVE_MEMBERS,
    KafkaError.UNKNOWN_MEMBER_ID: _LIVE_MEMBERS,
    KafkaError.REBALANCE_IN_PROGRESS: _LIVE_MEMBERS,
    KafkaError.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that read it; `tape group describe {group}` names them",
    KafkaError.MSG_SIZE_TOO_LARGE: "raise the topic's limit: `tape config set topic {topic} max.message.bytes=10MiB`",
    KafkaError.INVALID_MSG_SIZE: "raise the topic's limit: `tape config set topic {topic} max.message.bytes=10MiB`",
    KafkaError.NOT_ENOUGH_REPLICAS: "too few replicas are in sync (min.insync.replicas): `tape topic describe {topic}`",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "this user may not do that; check its ACLs",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "this user may not do that; check its ACLs",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "this user may not do that; check its ACLs",
    KafkaError.INVALID_RECORD: "a compacted topic takes only records with a key: add --key",
    KafkaError.UNSUPPORTED_VERSION: "the cluster is too old for this command",
    KafkaError._UNSUPPORTED_FEATURE: "the cluster is too old for this command",
    KafkaError._UNKNOWN_PARTITION: "`tape topic describe {topic}` shows the partitions",
    KafkaError.COORDINATOR_NOT_AVAILABLE: "the group's coordinator is starting; try again in a moment",
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: "the group's coordinator is starting; try again in a moment",
}


def is_unreachable(error: KafkaError) -> bool:
    """Whether no broker answered, so that it may be different next time."""
    return error.code() in _UNREACHABLE


def explain(error: KafkaError, *, bootstrap: str = "", trouble: str = "", topic: str = "", group: str = "") -> CliError:
    """A CliError for a Kafka error: its own words where they help, a next step always."""
    code = error.code()
    if is_unreachable(error):
        reason = trouble or error.str()
        return CliError(
            f"no answer from {bootstrap or 'the cluster'}: {reason}",
            "check that it is running and that its advertised address can be reached from here; `tape cluster describe "
            "--check` tells whether a majority of its voters is there; a slow one may need a longer --timeout",
            EXIT_UNREACHABLE,
        )
    if code in _NO_TOPIC:
        return CliError(
            f"there is no topic `{topic}`" if topic else "there is no such topic or partition",
            f"`tape topic list` shows all; `tape topic create {topic or 'NAME'}` makes it",
            EXIT_NOT_FOUND,
        )
    if code in (KafkaError.GROUP_ID_NOT_FOUND, KafkaError._UNKNOWN_GROUP):
        return CliError(f"there is no group `{group}`", "`tape group list` shows all", EXIT_NOT_FOUND)
    words = error.str() or error.name()
    hint = _HINTS.get(code, "").format(topic=topic or "TOPIC", group=group or "GROUP")
    return CliError(f"{words} ({error.name()})", hint, EXIT_FAILED)
