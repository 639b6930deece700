"""A small Google Cloud Storage: as much of its XML API as obstore speaks, after its documentation, in memory.

Packaged emulators lack it: fake-gcs-server 1.56 answers a plain PUT of an object with 400, and has no conditions there.
Generations are numbers that grow with every write of anything; a put under `x-goog-if-generation-match` happens only if
the object has that one (0: if it is absent).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.support.http_here import HttpHere

BUCKET = "tapelog"
PAGE = 20
"""Objects per answer to a listing: fewer than the tier asks for."""
MATCH = "x-goog-if-generation-match"


class GcsServer(HttpHere):
    """`with GcsServer(folder) as gcs:`; `gcs.environment` has its credentials."""

    def __init__(self, folder: Path, *, heeds_conditions: bool = True) -> None:
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.conditional_puts = 0
        self.multipart_uploads = 0
        self._heeds_conditions = heeds_conditions
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._generations = itertools.count(1_700_000_000_000_000)
        self._lock = threading.Lock()
        super().__init__(self._alone)
        account = {"gcs_base_url": self.endpoint, "disable_oauth": True, "client_email": "", "private_key": ""}
        path = folder / "account.json"
        path.write_text(json.dumps(account | {"private_key_id": ""}))
        self.environment = {"GOOGLE_SERVICE_ACCOUNT": str(path)}

    def _alone(self, request: BaseHTTPRequestHandler) -> None:
        with self._lock:
            self.handle(request)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        asked = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(asked.query, keep_blank_values=True).items()}
        bucket, _, name = unquote(asked.path).lstrip("/").partition("/")
        method = request.command
        if bucket != BUCKET:
            self._answer(request, 404, b"<Error><Code>NoSuchBucket</Code></Error>")
        elif not name:
            self._list(request, query)
        elif "uploadId" in query or "uploads" in query:
            self._multipart(request, method, name, query, body)
        elif method == "PUT":
            self._put(request, name, body)
        elif name not in self.objects:
            self._answer(request, 404, b"<Error><Code>NoSuchKey</Code></Error>")
        elif method == "DELETE":
            del self.objects[name]
            self._answer(request, 204)
        else:
            self._get(request, name)

    def _put(self, request: BaseHTTPRequestHandler, name: str, body: bytes) -> None:
        wanted = request.headers.get(MATCH)
        self.conditional_puts += wanted is not None
        there = self.objects[name][1] if name in self.objects else 0
        if wanted is not None and int(wanted) != there and self._heeds_conditions:
            self._answer(request, 412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self._store(request, name, body)

    def _store(self, request: BaseHTTPRequestHandler, name: str, body: bytes, text: bytes = b"") -> None:
        self.objects[name] = body, next(self._generations)
        self._answer(request, 200, text, self._headers(name))

    def _headers(self, name: str) -> dict[str, str]:
        data, generation = self.objects[name]
        return {
            "ETag": f'"{hashlib.md5(data).hexdigest()}"',
            "x-goog-generation": str(generation),
            "Last-Modified": "Mon, 16 Nov 2026 12:00:00 GMT",
        }

    def _get(self, request: BaseHTTPRequestHandler, name: str) -> None:
        data, headers, given = self.objects[name][0], self._headers(name), request.headers.get("Range")
        if given is None:
            self._answer(request, 200, data, headers)
            return
        first, last = given.removeprefix("bytes=").split("-")
        begin, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
        if begin >= len(data):
            self._answer(request, 416, b"<Error><Code>InvalidRange</Code></Error>")
        else:
            headers["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
            self._answer(request, 206, data[begin : end + 1], headers)

    def _list(self, request: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        after = max(query.get("start-after", ""), query.get("continuation-token", ""))
        names = sorted(name for name in self.objects if name.startswith(query.get("prefix", "")) and name > after)
        shown = names[:PAGE]
        parts = [
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.objects[name][0])}</Size>"
            f"<LastModified>2026-11-16T12:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag></Contents>"
            for name in shown
        ]
        if len(names) > PAGE:
            parts.append(f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>")
        self._answer(request, 200, f"<ListBucketResult>{''.join(parts)}</ListBucketResult>".encode())

    def _multipart(
        self, request: BaseHTTPRequestHandler, method: str, name: str, query: dict[str, str], body: bytes
    ) -> None:
        if "uploads" in query:
            id = str(next(self._generations))
            self._uploads[id] = {}
            self.multipart_uploads += 1
            text = f"<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
            self._answer(request, 200, text.encode())
        elif method == "PUT":
            self._uploads[query["uploadId"]][int(query["partNumber"])] = body
            self._answer(request, 200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
        elif method == "POST":
            parts = self._uploads.pop(query["uploadId"])
            text = b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
            self._store(request, name, b"".join(parts[number] for number in sorted(parts)), text)
        else:
            self._uploads.pop(query["uploadId"], None)
            self._answer(request, 204)

    def _answer(self, request: Any, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)
