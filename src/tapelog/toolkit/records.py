"""What comes in and what goes out: Record, Send, and their headers.

Both are plain frozen values. A handler gets a Record and returns what is to be sent: nothing, one Send, or several. It
never touches a client, so it is tested by calling it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from confluent_kafka import Message

Place: TypeAlias = tuple[str, int]
"""A topic and a partition."""

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
HeadersLike: TypeAlias = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]

ID_HEADER = "message-id"
"""Names a message for good, however often it is sent: what duplicates are recognised by."""


TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")

SENDABLE = (str, bytes, type(None))
"""What a key, a value or a header may be."""

MAY_RETURN = "a handler returns None, a Send or an iterable of Sends"


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
    def example(
        cls,
        value: str | bytes | None = None,
        *,
        key: str | bytes | None = None,
        headers: HeadersLike = (),
        topic: str = "example",
        partition: int = 0,
        offset: int = 0,
        timestamp_ms: int = 0,
    ) -> Record:
        """A record for a test of a handler. Text becomes UTF-8, as it does in a Send.

        >>> Record.example('{"item": "tea"}', key="42").json()
        {'item': 'tea'}
        """
        return cls(topic, partition, offset, as_bytes(key), as_bytes(value), as_headers(headers), timestamp_ms)

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
    """One message to be sent. Text is sent as UTF-8, and stays text in here: a test compares what the handler gave.

    >>> Send("greetings", "hello", key="en").value
    'hello'
    """

    topic: str
    value: str | bytes | None = None
    key: str | bytes | None = None
    headers: HeadersLike = ()
    partition: int | None = None
    timestamp_ms: int | None = None

    def __post_init__(self) -> None:
        checked_topic(self.topic)
        value: object = self.value
        key: object = self.key
        if not isinstance(value, SENDABLE):
            raise TypeError(f"{self._must_be('value', value)}; Send.json(topic, value) writes it as JSON")
        if not isinstance(key, SENDABLE):
            raise TypeError(self._must_be("key", key))
        if self.headers:
            self._check_headers()

    def _must_be(self, name: str, given: object) -> str:
        return f"the {name} of a Send to {self.topic!r} is str, bytes or None, not {_kind(given)}"

    def _check_headers(self) -> None:
        if not isinstance(self.headers, Mapping | list | tuple):  # an iterator is read once, a batch may be sent twice
            object.__setattr__(self, "headers", tuple(self.headers))
        for name, value in self.headers.items() if isinstance(self.headers, Mapping) else self.headers:
            if not isinstance(value, SENDABLE):
                raise TypeError(f"the header {name!r} of a Send is str, bytes or None, not {_kind(value)}")

    @classmethod
    def json(cls, topic: str, value: object, *, key: str | bytes | None = None, headers: HeadersLike = ()) -> Send:
        """With a value that is written as JSON; `value` is then that JSON text, a str.

        >>> Send.json("orders", {"item": "tea"}).value
        '{"item": "tea"}'
        """
        return cls(topic, json.dumps(value), key, headers)


Sends: TypeAlias = Send | Iterable[Send] | None
"""What a handler may return."""


def as_sends(result: Sends) -> tuple[Send, ...]:
    """A handler's result as a tuple; a generator runs here, so its errors are the handler's."""
    if result is None:
        return ()
    if isinstance(result, Send):
        return (result,)
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
        raise TypeError(f"{MAY_RETURN}; this one returned {_kind(result)}{_advice(result)}")
    sends = tuple(result)
    for send in sends:
        if not isinstance(send, Send):
            raise TypeError(f"{MAY_RETURN}; one of them was {type(send).__name__}{_advice(send)}")
    return sends


def _advice(result: object) -> str:
    """How to make a message of what a handler returned."""
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()  # or Python warns that nobody awaited it
        return ": async handlers go with the loops of tapelog.toolkit.aio"
    if isinstance(result, str | bytes):
        return ": Send(topic, value) makes a message of it"
    return ": Send.json(topic, value) makes a message of it"


def _kind(thing: object) -> str:
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@lru_cache(maxsize=1024)
def _is_topic(name: str) -> bool:
    return TOPIC.fullmatch(name) is not None and name not in (".", "..")


def checked_topic(name: object) -> str:
    """The name, if Kafka allows it for a topic."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a topic is a str, not {_kind(name)}: {name!r}")
    if not _is_topic(name):
        raise ValueError(f"{name!r} is not a topic's name: 1 to 249 letters, digits, '.', '_' or '-'")
    return name


def as_bytes(text: str | bytes | None) -> bytes | None:
    """Text as UTF-8."""
    return text.encode() if isinstance(text, str) else text


def as_headers(headers: HeadersLike) -> Headers:
    """Headers in their one form: a tuple of names and bytes."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, as_bytes(value)) for name, value in pairs)


def with_headers(headers: Headers, replaced: Mapping[str, str | bytes]) -> Headers:
    """These headers, with some set: a header that is set replaces all of that name."""
    return (*(pair for pair in headers if pair[0] not in replaced), *as_headers(replaced))
