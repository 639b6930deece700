"""A schema registry for tests, over real HTTP: what a reader or writer asks of Confluent's, with its codes of errors.

Schemas are equal if their texts are. `failures` are answered before anything else, one per request.
"""

from __future__ import annotations

import base64
import json
import ssl
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from tests.support.http_here import HttpHere

REFERENCE = tuple[str, str, int]


@dataclass(frozen=True)
class Kept:
    """A schema with its id."""

    id: int
    text: str
    kind: str
    references: tuple[REFERENCE, ...]

    @property
    def guid(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.kind}:{self.text}"))

    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = {"schema": self.text, "guid": self.guid}
        if self.kind != "AVRO":
            found["schemaType"] = self.kind
        if self.references:
            found["references"] = [{"name": n, "subject": s, "version": v} for n, s, v in self.references]
        return found


@dataclass
class RegistryServer:
    """`with` it serves at `url`; `user` as user:password or `token` are asked for where set."""

    user: str = ""
    token: str = ""
    tls: ssl.SSLContext | None = None
    failures: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    schemas: list[Kept] = field(default_factory=list)
    subjects: dict[str, list[Kept]] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    """Subjects whose schemas are refused, and why."""

    def __enter__(self) -> Self:
        self._http = HttpHere(self._handle)
        if self.tls is not None:
            server = self._http._server
            server.socket = self.tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = self._http.endpoint.replace("http:", "https:" if self.tls else "http:")
        self._http.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.__exit__(*error)

    def add(self, subject: str, text: str, kind: str = "AVRO", references: tuple[REFERENCE, ...] = ()) -> int:
        """Register a schema; its id."""
        found = next((one for one in self.schemas if (one.text, one.kind) == (text, kind)), None)
        if found is None:
            found = Kept(len(self.schemas) + 1, text, kind, references)
            self.schemas.append(found)
        versions = self.subjects.setdefault(subject, [])
        if found not in versions:
            versions.append(found)
        return found.id

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = json.loads(request.rfile.read(length)) if length else None
        self.asked.append(f"{request.command} {request.path}")
        status, answer = self._answer(request, body)
        data = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _answer(self, request: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        if self.failures:
            return self.failures.pop(0), {"error_code": 50001, "message": "trouble"}
        if not self._allowed(request.headers.get("Authorization") or ""):
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match [unquote(part) for part in urlsplit(request.path).path.split("/")[1:]]:
            case ["schemas", "ids", number]:
                return self._one([one for one in self.schemas if str(one.id) == number])
            case ["schemas", "guids", guid]:
                return self._one([one for one in self.schemas if one.guid == guid])
            case ["subjects", subject, "versions", version]:
                return self._version(subject, version)
            case ["subjects", subject, "versions"] if request.command == "POST":
                if subject in self.refusals:
                    return 409, {"error_code": 409, "message": self.refusals[subject]}
                return 200, {"id": self.add(subject, body["schema"], body.get("schemaType", "AVRO"))}
            case ["subjects", subject] if request.command == "POST":
                kind = body.get("schemaType", "AVRO")
                found = [
                    one for one in self.subjects.get(subject, []) if (one.text, one.kind) == (body["schema"], kind)
                ]
                return self._one(found, id=found[0].id if found else 0)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _one(self, found: list[Kept], **more: object) -> tuple[int, Any]:
        if not found:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, found[0].told() | more

    def _version(self, subject: str, version: str) -> tuple[int, Any]:
        versions = self.subjects.get(subject)
        if versions is None:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        number = len(versions) if version == "latest" else int(version)
        if not 0 < number <= len(versions):
            return 404, {"error_code": 40402, "message": f"Version {number} not found."}
        found = versions[number - 1]
        return 200, found.told() | {"subject": subject, "version": number, "id": found.id}

    def _allowed(self, given: str) -> bool:
        if self.token:
            return given == f"Bearer {self.token}"
        return not self.user or given == "Basic " + base64.b64encode(self.user.encode()).decode()
