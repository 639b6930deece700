"""What can go wrong between us and a cluster, each in three lines: what, which, what to do.

`Retriable` ones are tried again inside the client until the deadline; whoever calls the client sees one only as the
cause of a `DeadlineError`. Everything else ends the call. Nothing here ever holds a secret.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.errors import ErrorCode, error_code


class ClientError(Exception):
    """Something went wrong: `what` happened, to `which` broker, topic or option, and what to `do` about it."""

    def __init__(self, what: str, which: str = "", do: str = "") -> None:
        super().__init__(what, which, do)
        self.what = what
        self.which = which
        self.do = do

    def __str__(self) -> str:
        return "\n".join(line for line in (self.what, self.which, self.do) if line)


class Retriable(ClientError):
    """May pass by itself: the client tries again until its deadline."""


class LinkError(Retriable):
    """A broker cannot be reached, or the connection to it was lost with everything in flight on it."""


class TlsError(ClientError):
    """TLS was refused by one side, or its files are unusable: trying again would not help."""


class LoginError(ClientError):
    """The broker does not take our credentials, or it could not prove that it knows them."""


class ProtocolError(ClientError):
    """The other side does not speak the protocol, or not a version that we speak."""


class DeadlineError(ClientError):
    """The call took longer than it may; `__cause__` is what stood in its way last."""


class RefusedError(ClientError):
    """The broker answered with an error code that trying again does not cure."""

    def __init__(self, code: ErrorCode, what: str, which: str = "", do: str = "") -> None:
        ClientError.__init__(self, what, which, do)
        self.args = (code, what, which, do)
        self.code = code


class RetriableRefusal(Retriable):
    """The broker answered with an error code that passes by itself."""

    def __init__(self, code: ErrorCode, what: str, which: str = "", do: str = "") -> None:
        ClientError.__init__(self, what, which, do)
        self.args = (code, what, which, do)
        self.code = code


class FencedError(RefusedError):
    """A newer producer with the same transactional id has taken over: this one must not write any more."""


class TransactionStateError(RefusedError):
    """The coordinator has no transaction in a state that allows this. It does not tell whether one was committed."""


class UnknownTopicError(ClientError):
    """The cluster has no such topic or partition, or hides it from us."""


class RecreatedTopicError(UnknownTopicError):
    """The cluster has a topic of that name, but not the one that was meant: its id is another one."""


class OffsetOutOfRangeError(ClientError):
    """The offset asked for is not in the partition: deleted by retention, or beyond the end."""

    def __init__(self, topic: str, partition: int, offset: int, log_start_offset: int, end_offset: int) -> None:
        below = offset < log_start_offset
        ClientError.__init__(
            self,
            f"offset {offset} of {topic}-{partition} "
            + ("has been deleted: the partition begins at " if below else "does not exist: the partition ends at ")
            + str(log_start_offset if below else end_offset),
            f"topic {topic}, partition {partition}, offsets {log_start_offset} to {end_offset}",
            "start at an offset that is there; retention deletes by age and size (retention.ms, retention.bytes)"
            if below
            else "start at an offset that is there; a topic that was made anew begins again at 0",
        )
        self.args = (topic, partition, offset, log_start_offset, end_offset)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.end_offset = end_offset

    @property
    def below(self) -> bool:
        """Deleted, rather than not written yet (or not any more)."""
        return self.offset < self.log_start_offset


RETRY: Final[frozenset[ErrorCode]] = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.CORRUPT_MESSAGE,
    }
)
"""Codes after which the client asks again: those of leaders and coordinators on the move, and of a busy cluster."""

_DO: Final[dict[ErrorCode, str]] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "grant this user READ (to write: WRITE) and DESCRIBE on the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "grant this user READ on the group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "grant this user WRITE on the transactional id",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "grant this user IDEMPOTENT_WRITE on the cluster",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "ask for less, or raise transaction.max.timeout.ms on the brokers",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members of its own: choose another name for it",
    ErrorCode.MESSAGE_TOO_LARGE: "raise max.message.bytes of the topic, or write smaller records",
    ErrorCode.RECORD_LIST_TOO_LARGE: "raise segment.bytes of the topic, or lower batch.size",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "check the name of the topic",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "create the topic, or check its name and what this user may see",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "choose another compression.type",
    ErrorCode.INVALID_RECORD: "the topic refuses the record: a compacted one wants a key with each",
    ErrorCode.POLICY_VIOLATION: "the topic's policy refuses this: ask who runs the cluster",
    ErrorCode.UNSUPPORTED_VERSION: "use brokers of Kafka 2.1 or newer",
    ErrorCode.INVALID_TXN_STATE: "the transaction has been ended, or never began: write the batch again",
    ErrorCode.NOT_ENOUGH_REPLICAS: "bring brokers back, or lower min.insync.replicas of the topic",
}

_FENCED: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)
_STATE: Final = frozenset(
    {ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.TRANSACTION_ABORTABLE}
)


def refusal(number: int, doing: str, which: str, message: str | None = None) -> ClientError:
    """The error for a code other than NONE: retriable, fenced, or final. `doing` says what was tried: to `doing`."""
    code = error_code(number)
    name = code.name if code == number else f"error {number}"
    what = f"the broker refused to {doing}: {name}" + (f" ({message})" if message else "")
    do = _DO.get(code, "")
    if code in RETRY:
        return RetriableRefusal(code, what, which, do)
    if code in _FENCED:
        return FencedError(code, what, which, "another attempt has taken over; this one must end")
    if code in _STATE:
        return TransactionStateError(code, what, which, do)
    return RefusedError(code, what, which, do)
