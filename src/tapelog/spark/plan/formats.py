"""How keys and values are to be understood: formats, schemas, the registry, and what becomes of corrupt records.

Options in, frozen values out. They are pickled to executors; what must not be seen is a `Secret`. Nothing here asks a
registry or opens a file: spark/formats does, once, on the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from tapelog.client.secret import Secret
from tapelog.client.settings import Tls
from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.given import INT_MAX, Given
from tapelog.spark.plan.names import DETAILS
from tapelog.spark.plan.tls import Ssl, tls_settings

Format: TypeAlias = Literal["binary", "string", "json", "avro", "protobuf"]
Strategy: TypeAlias = Literal["topic", "record", "topicRecord"]
OnCorrupt: TypeAlias = Literal["fail", "column", "deadLetter"]

FORMATS: Final[tuple[Format, ...]] = ("binary", "string", "json", "avro", "protobuf")
STRATEGIES: Final[tuple[Strategy, ...]] = ("topic", "record", "topicRecord")
_CONFLUENT: Final = {
    "topicnamestrategy": "topic",
    "recordnamestrategy": "record",
    "topicrecordnamestrategy": "topicRecord",
}
CORRUPT: Final = "_corrupt"
"""The column of records that could not be decoded, with onCorrupt=column."""
REGISTRY: Final = "schemaRegistry."


@dataclass(frozen=True, slots=True)
class Registry:
    """A schema registry that speaks Confluent's interface, and how to be let in."""

    urls: tuple[str, ...]
    """Tried one after the other; without user and password."""
    user: str = ""
    password: Secret | None = None
    token: Secret | None = None
    tls: Tls = field(default_factory=Tls)
    timeout_ms: int = 10_000
    retries: int = 3
    """How often all of them are asked again."""


@dataclass(frozen=True, slots=True)
class Part:
    """How one column, key or value, is to be understood."""

    column: str
    format: Format
    schema: str | None = None
    """The schema itself, as text."""
    schema_file: str | None = None
    message: str | None = None
    """The record or message within the schema, by its full name."""
    subject: str | None = None
    strategy: Strategy = "topic"
    version: int | None = None
    """Of the subject; None: the latest."""
    schema_id: int | None = None

    @property
    def given(self) -> bool:
        """Whether the schema is in the options, or in a file that they name."""
        return self.schema is not None or self.schema_file is not None

    def option(self, detail: str) -> str:
        """The name of an option of this column."""
        return self.column + detail


class Reference(NamedTuple):
    """A schema that another one refers to, by this name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The schema that a column has: found once, on the driver; the executors know no other."""

    part: Part
    text: str = ""
    """Empty: there is none."""
    references: tuple[Reference, ...] = ()
    """All that it refers to, each after those that it refers to itself."""
    message: str | None = None
    prefixed: bool = False
    """Whether values carry the id of the schema by which they were written."""


@dataclass(frozen=True, slots=True)
class ReadFormats:
    """What a read decodes; columns that stay bytes are not in it."""

    parts: tuple[Part, ...]
    registry: Registry | None = None
    on_corrupt: OnCorrupt = "fail"
    dead_letter_topic: str | None = None
    ids_in_headers: bool = False
    """Schema ids are looked for in the headers __key_schema_id and __value_schema_id before the value itself."""


@dataclass(frozen=True, slots=True)
class WriteFormats:
    """What a write encodes; columns that are bytes already are not in it."""

    parts: tuple[Part, ...]
    registry: Registry | None = None
    auto_register: bool = False
    """Register the schema under its subject where it is not there yet."""
    use_latest: bool = False
    """Write by the latest schema of the subject; else by the given one, which must be registered."""


def read_formats(given: Given) -> ReadFormats | None:
    """The formats that a read was told; None where keys and values stay bytes. OptionError where they do not fit."""
    on_corrupt = given.choice("onCorrupt", "fail", ("fail", "column", "deadLetter"))
    topic = given.text("deadLetterTopic") or None
    ids_in = given.choice("schemaIdIn", "prefix", ("prefix", "header"))
    parts = _parts(given)
    registry = _registry(given)
    if not parts:
        _no_leftovers(given)
        return None
    if (on_corrupt == "deadLetter") != (topic is not None):
        raise OptionError(
            "Options onCorrupt=deadLetter and deadLetterTopic go together.",
            "Set both, or leave both out: then a record that cannot be decoded stops the query.",
        )
    for part in parts:
        _check(part, registry)
    kind: OnCorrupt = "fail" if on_corrupt == "fail" else "column" if on_corrupt == "column" else "deadLetter"
    return ReadFormats(parts, registry, kind, topic, ids_in == "header")


def write_formats(given: Given) -> WriteFormats | None:
    """The formats that a write was told; None where keys and values are bytes already."""
    parts, registry = _parts(given), _registry(given)
    if not parts:
        _no_leftovers(given)
        return None
    auto = given.flag(f"{REGISTRY}auto.register.schemas", False)
    latest = given.flag(f"{REGISTRY}use.latest.version", False)
    if auto and latest:
        raise OptionError(
            f"Options {REGISTRY}auto.register.schemas and {REGISTRY}use.latest.version do not go together.",
            "The first writes by your own schema, the second by the registry's: leave one of them out.",
        )
    for part in parts:
        _check(part, registry)
    return WriteFormats(parts, registry, auto, latest)


def _parts(given: Given) -> tuple[Part, ...]:
    found = []
    for column in ("key", "value"):
        chosen = given.choice(f"{column}Format", "binary", FORMATS)
        kind: Format = next(one for one in FORMATS if one == chosen)
        if kind != "binary":
            found.append(_part(given, column, kind))
            continue
        for detail in DETAILS:
            if given.has(column + detail):
                raise OptionError(
                    f"Option {column}{detail} says nothing without {column}Format.",
                    f"Set {column}Format to json, avro or protobuf, or leave it out. See {DOCS}.",
                )
    return tuple(found)


def _part(given: Given, column: str, kind: Format) -> Part:
    name = f"{column}SchemaVersion"
    latest = (given.text(name) or "latest").lower() in ("latest", "-1")
    return Part(
        column,
        kind,
        schema=given.raw(f"{column}Schema") or None,
        schema_file=given.text(f"{column}SchemaFile") or None,
        message=given.text(f"{column}Message") or None,
        subject=given.text(f"{column}Subject") or None,
        strategy=_strategy(given, f"{column}SubjectStrategy"),
        version=None if latest else given.number(name, 0, least=1, most=INT_MAX),
        schema_id=given.maybe_number(f"{column}SchemaId", most=INT_MAX),
    )


def _strategy(given: Given, name: str) -> Strategy:
    words = (given.text(name) or "topic").rpartition(".")[2]
    word = _CONFLUENT.get(words.lower(), words)
    for one in STRATEGIES:
        if one.lower() == word.lower():
            return one
    raise given.wrong(name, "topic, record or topicRecord")


def _check(part: Part, registry: Registry | None) -> None:
    """Whether there is one schema, and only one, to go by."""
    details = [name for name, attribute in _FIELDS.items() if getattr(part, attribute) is not None]
    if part.format == "string" and details:
        raise OptionError(f"Option {part.option(details[0])} says nothing for strings: leave it out.")
    if part.schema is not None and part.schema_file is not None:
        raise OptionError(f"Options {part.column}Schema and {part.column}SchemaFile: leave one of them out.")
    if part.given:
        for name in ("SchemaVersion", "SchemaId"):
            if name in details:
                raise OptionError(f"Option {part.column}{name} chooses a schema, and {part.column}Schema gives one.")
    elif registry is None and part.format in ("avro", "protobuf"):
        raise OptionError(
            f"{part.column}Format={part.format} needs a schema.",
            f"Set schemaRegistry.url, or give it: {part.column}Schema, {part.column}SchemaFile. See {DOCS}.",
        )
    if registry is None and any(name in details for name in ("Subject", "SchemaVersion", "SchemaId")):
        raise OptionError(f"Option {part.column}Subject, …SchemaVersion or …SchemaId needs schemaRegistry.url.")


_FIELDS: Final = {
    "Schema": "schema",
    "SchemaFile": "schema_file",
    "Message": "message",
    "Subject": "subject",
    "SchemaVersion": "version",
    "SchemaId": "schema_id",
}


def _no_leftovers(given: Given) -> None:
    """Options that only mean something to a format."""
    for name in ("onCorrupt", "deadLetterTopic", "schemaIdIn", f"{REGISTRY}url"):
        if given.has(name):
            raise OptionError(
                f"Option {name} says nothing without valueFormat or keyFormat.",
                f"Set valueFormat to string, json, avro or protobuf, or leave {name} out. See {DOCS}.",
            )


def _registry(given: Given) -> Registry | None:
    found = given.words(f"{REGISTRY}url")
    if not found:
        return None
    urls, user, password = [], "", None
    for one in found:
        parts = urlsplit(one)
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            port = ""
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise OptionError(
                f"Option {REGISTRY}url must be http://host:port or https://host:port; several are separated by commas.",
                f"Set it anew; user and password belong into {REGISTRY}basic.auth.user.info.",
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        urls.append(f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}")
        if parts.username:
            user, password = unquote(parts.username), Secret(unquote(parts.password or ""))
    info = given.raw(f"{REGISTRY}basic.auth.user.info")
    if info:
        user, colon, rest = info.partition(":")
        if not colon:
            raise OptionError(f"Option {REGISTRY}basic.auth.user.info must be user:password.")
        password = Secret(rest)
    token = given.text(f"{REGISTRY}bearer.auth.token")
    if token and password is not None:
        raise OptionError(f"Options {REGISTRY}basic.auth.user.info and {REGISTRY}bearer.auth.token: leave one out.")
    return Registry(
        tuple(urls),
        user,
        password,
        Secret(token) if token else None,
        tls_settings(Ssl(lambda name: given.raw(REGISTRY + name), REGISTRY)),
        given.number(f"{REGISTRY}request.timeout.ms", 10_000, least=1, most=INT_MAX),
        given.number(f"{REGISTRY}retries", 3, most=100),
    )
