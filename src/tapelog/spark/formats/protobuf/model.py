"""What a .proto file says, as far as data is concerned."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapelog.spark.formats.errors import SchemaError


@dataclass
class Field:
    """A field of a message. `type` is a scalar's name, or, once it is linked, a full name."""

    name: str
    number: int
    type: str
    repeated: bool = False
    presence: bool = False
    """Whether it can be told from its default that it is not there."""
    oneof: str = ""
    key: str = ""
    """Of a map: the type of its keys; `type` is that of its values."""


@dataclass
class Enum:
    """Names by their numbers; the first is the default."""

    name: str
    values: dict[int, str] = field(default_factory=dict)


@dataclass
class Message:
    """Fields, and what is declared within."""

    name: str
    fields: list[Field] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    enums: list[Enum] = field(default_factory=list)


@dataclass
class File:
    """One .proto file."""

    package: str = ""
    imports: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    enums: list[Enum] = field(default_factory=list)


class Types:
    """All messages and enums that a file and its imports declare, by full name."""

    def __init__(self, files: list[File]) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, Enum] = {}
        for file in files:
            for enum in file.enums:
                self.enums[enum.name] = enum
            for message in file.messages:
                self._add(message)

    def _add(self, message: Message) -> None:
        self.messages[message.name] = message
        for enum in message.enums:
            self.enums[enum.name] = enum
        for inner in message.messages:
            self._add(inner)

    def full_name(self, name: str, scope: str) -> str:
        """What a name means where it stands: within the message `scope`. SchemaError if nothing."""
        if name.startswith("."):
            found = [name[1:]]
        else:
            parts = scope.split(".") if scope else []
            found = [".".join([*parts[:length], name]) for length in range(len(parts), -1, -1)]
        for full in found:
            if full in self.messages or full in self.enums:
                return full
        raise SchemaError(f"it names a type that it does not have: {name[:80]}; is an import missing?")


def index_path(file: File, name: str) -> tuple[int, ...]:
    """Where a message is declared: its number in the file, and in each message around it. SchemaError if nowhere."""

    def within(messages: list[Message], path: tuple[int, ...]) -> tuple[int, ...] | None:
        for number, message in enumerate(messages):
            if message.name == name:
                return (*path, number)
            if name.startswith(message.name + "."):
                return within(message.messages, (*path, number))
        return None

    found = within(file.messages, ())
    if found is None:
        raise SchemaError(f"it has no message {name}")
    return found
