"""Schemas by id, by GUID and by subject, with all that they refer to; each is asked for once per process.

A schema never changes under its id, so answers are kept, as many as SCHEMAS_MAX; "latest" is not kept. That there is no
such id is kept, too, but not for long.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from tapelog.client.pace import Pace, SystemPace
from tapelog.spark.plan.formats import Reference, Registry
from tapelog.spark.registry.http import Http, NotThereError, RegistryError

SCHEMAS_MAX: Final = 1000
"""Schemas that are kept per registry."""
REFERENCES_MAX: Final = 200
"""Schemas that one schema refers to, directly or not."""
REGISTRIES_MAX: Final = 16
ABSENT_SECONDS: Final = 30.0
"""For so long an id that was not there is not asked for again."""

_NO_SCHEMA: Final = 40403
_KINDS: Final = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}

SchemaKey: TypeAlias = int | str
"""An id, or a GUID as text."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema as the registry has it."""

    id: int
    format: str
    """avro, protobuf or json."""
    text: str
    references: tuple[Reference, ...] = ()
    """All of them, each after those that it refers to itself."""
    subject: str = ""
    version: int = 0


class RegistryClient:
    """One registry, as this process knows it."""

    def __init__(self, registry: Registry, pace: Pace | None = None) -> None:
        self._pace = pace or SystemPace()
        self._http = Http(registry, self._pace)
        self._kept: dict[SchemaKey, Registered] = {}
        self._absent: dict[SchemaKey, float] = {}

    def by_key(self, key: SchemaKey) -> Registered | None:
        """The schema with this id or GUID; None: the registry has none. RegistryError if it cannot be asked."""
        found = self._kept.get(key)
        if found is not None:
            return found
        if self._pace.now() < self._absent.get(key, 0.0):
            return None
        path = f"/schemas/ids/{key}" if isinstance(key, int) else f"/schemas/guids/{quote(key, safe='')}"
        try:
            answer = self._http.ask(path)
        except NotThereError as error:
            if error.code != _NO_SCHEMA:
                raise
            while len(self._absent) >= SCHEMAS_MAX:
                del self._absent[next(iter(self._absent))]
            self._absent[key] = self._pace.now() + ABSENT_SECONDS
            return None
        made = self._registered(answer, key if isinstance(key, int) else int(answer.get("id", -1)))
        while len(self._kept) >= SCHEMAS_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = made
        return made

    def by_subject(self, subject: str, version: int | None = None) -> Registered:
        """The schema of a subject: the latest, or this version. NotThereError, RegistryError."""
        answer = self._http.ask(_versions(subject, "latest" if version is None else str(version)))
        return self._registered(answer, _number(answer, "id"))

    def lookup(self, subject: str, schema: Registered) -> int | None:
        """The id under which a subject has this very schema; None: it does not."""
        try:
            answer = self._http.ask(f"/subjects/{quote(subject, safe='')}", _body(schema))
        except NotThereError:
            return None
        return _number(answer, "id")

    def register(self, subject: str, schema: Registered) -> int:
        """Register it under the subject, or find that it is; its id. RefusedError where the registry's rules say no."""
        return _number(self._http.ask(f"/subjects/{quote(subject, safe='')}/versions", _body(schema)), "id")

    def _registered(self, answer: Any, number: int) -> Registered:
        text, kind = answer.get("schema"), answer.get("schemaType") or "AVRO"
        if not isinstance(text, str) or kind not in _KINDS:
            raise RegistryError(f"The schema registry's answer for schema {number} holds no schema that is known here.")
        found: dict[str, str] = {}
        self._refer(answer.get("references") or (), found)
        references = tuple(Reference(name, one) for name, one in found.items())
        subject, version = str(answer.get("subject") or ""), answer.get("version")
        return Registered(number, _KINDS[kind], text, references, subject, version if isinstance(version, int) else 0)

    def _refer(self, given: Any, found: dict[str, str], depth: int = 0) -> None:
        """Add what is referred to, the innermost first."""
        for one in given:
            name, subject, version = str(one["name"]), str(one["subject"]), int(one["version"])
            if name in found:
                continue
            if len(found) >= REFERENCES_MAX or depth >= REFERENCES_MAX:
                raise RegistryError(f"A schema refers to more than {REFERENCES_MAX} others, or in a circle: {name}.")
            answer = self._http.ask(_versions(subject, str(version)) + "?deleted=true")
            self._refer(answer.get("references") or (), found, depth + 1)
            found[name] = str(answer["schema"])


def _versions(subject: str, version: str) -> str:
    return f"/subjects/{quote(subject, safe='')}/versions/{version}"


def _body(schema: Registered) -> dict[str, str]:
    kind = next(name for name, one in _KINDS.items() if one == schema.format)
    return {"schema": schema.text} | ({} if kind == "AVRO" else {"schemaType": kind})


def _number(answer: Mapping[str, Any], name: str) -> int:
    found = answer.get(name)
    if not isinstance(found, int) or found < 0:
        raise RegistryError(f"The schema registry's answer holds no {name}.")
    return found


_clients: dict[Registry, RegistryClient] = {}
_lock: Final = threading.Lock()


def client_of(registry: Registry) -> RegistryClient:
    """The client that this process has for a registry."""
    with _lock:
        found = _clients.get(registry)
        if found is None:
            while len(_clients) >= REGISTRIES_MAX:
                del _clients[next(iter(_clients))]
            found = _clients[registry] = RegistryClient(registry)
        return found
