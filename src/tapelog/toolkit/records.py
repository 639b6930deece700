"""What comes in and what goes out: Record, Send, and their headers.

Both are plain frozen values. A handler gets a Record and returns what is to be sent: nothing, one Send, or several. It
never touches a client, so it is tested by calling it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from confluent_kafka import Message

Place: TypeAlias = tuple[str, int]
"""A topic and a partition."""

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
HeadersLike: TypeAlias = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]

ID_HEADER = "message-id"
"""Names a message for good, however often it is sent: what duplicates are recognised by."""


class NoValue(ValueError):
    """The record has no value (it is a tombstone), and the handler asked for one."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it was read.

    >>> Record("orders", 0, 17, value=b'{"item": "tea"}').json()["item"]
    'tea'
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int = -1
    leader_epoch: int = -1

    @property
    def place(self) -> Place:
        """Where it was read: topic and partition."""
        return self.topic, self.partition

    @property
    def coordinates(self) -> str:
        """Where exactly: `orders[0]@17`. No other record of the cluster has the same."""
        return f"{self.topic}[{self.partition}]@{self.offset}"

    def header(self, name: str) -> bytes | None:
        """The last header of that name, or None."""
        for key, value in reversed(self.headers):
            if key == name:
                return value
        return None

    def header_text(self, name: str) -> str | None:
        """The last header of that name as text, or None."""
        value = self.header(name)
        return None if value is None else value.decode("utf-8", "replace")

    @property
    def data(self) -> bytes:
        """The value; NoValue for a tombstone."""
        if self.value is None:
            raise NoValue(f"{self.coordinates} has no value")
        return self.value

    def text(self) -> str:
        """The value as UTF-8 text."""
        return self.data.decode()

    def json(self) -> Any:
        """The value as JSON."""
        return json.loads(self.data)

    @classmethod
    def of(cls, message: Message) -> Record:
        """From what the client gives."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        epoch = message.leader_epoch()
        assert topic is not None and partition is not None and offset is not None
        return cls(
            topic,
            partition,
            offset,
            message.key(),
            message.value(),
            as_headers(message.headers() or ()),
            message.timestamp()[1],
            -1 if epoch is None else epoch,
        )


@dataclass(frozen=True, slots=True)
class Send:
    """One message to be sent. Text is sent as UTF-8.

    >>> Send("greetings", "hello", key="en").topic
    'greetings'
    """

    topic: str
    value: str | bytes | None = None
    key: str | bytes | None = None
    headers: HeadersLike = ()
    partition: int | None = None
    timestamp_ms: int | None = None

    @classmethod
    def json(cls, topic: str, value: object, *, key: str | bytes | None = None, headers: HeadersLike = ()) -> Send:
        """With a value that is written as JSON."""
        return cls(topic, json.dumps(value), key, headers)


Sends: TypeAlias = Send | Iterable[Send] | None
"""What a handler may return."""


def as_sends(result: Sends) -> tuple[Send, ...]:
    """A handler's result as a tuple; a generator runs here, so its errors are the handler's."""
    if result is None:
        return ()
    if isinstance(result, Send):
        return (result,)
    sends = tuple(result)
    for send in sends:
        if not isinstance(send, Send):
            raise TypeError(f"a handler returns None, a Send or several; one of them was {type(send).__name__}")
    return sends


def as_headers(headers: HeadersLike) -> Headers:
    """Headers in their one form: a tuple of names and bytes."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)


def with_headers(headers: Headers, replaced: Mapping[str, str | bytes]) -> Headers:
    """These headers, with some set: a header that is set replaces all of that name."""
    return (*(pair for pair in headers if pair[0] not in replaced), *as_headers(replaced))
