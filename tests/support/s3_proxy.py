"""A bad way to an S3 server: slow, failing, gone for a while, or a moment at which somebody is killed."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from tests.support.http_here import HttpHere


class S3Proxy(HttpHere):
    """Forwards to another server. `with S3Proxy(port) as way:`; change its attributes at any time."""

    def __init__(self, port: int, seed: int = 1) -> None:
        self.target = port
        self.delay_s = 0.0
        self.fail_share = 0.0
        """Of the requests; half of those are carried out all the same."""
        self.gone = False
        self.before: Callable[[str, str], None] = _ignore
        self.after: Callable[[str, str], None] = _ignore
        """Called with method and path before a request is forwarded, and when it was, before it is answered."""
        self.requests: list[tuple[str, str]] = []
        self.answers: list[tuple[str, str, int]] = []
        """What was forwarded, and with which status it was answered."""
        self._chance = random.Random(seed)
        super().__init__(self.handle)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        method, path = request.command or "", request.path
        self.requests.append((method, path))
        begun = time.monotonic()
        while time.monotonic() < begun + self.delay_s:  # whoever makes it faster sets free what waits
            time.sleep(min(0.05, self.delay_s))
        if self.gone:
            request.close_connection = True
            return
        failing = self._chance.random() < self.fail_share
        if failing and self._chance.random() < 0.5:
            _answer(request, 503, {}, b"")
            return
        self.before(method, path)
        forwarded = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        forwarded.request(method, path, body, dict(request.headers))
        answer = forwarded.getresponse()
        content, headers = answer.read(), dict(answer.getheaders())
        forwarded.close()
        self.answers.append((method, path, answer.status))
        self.after(method, path)
        if failing:
            request.close_connection = True  # it happened, and nobody is told
            return
        _answer(request, answer.status, headers, content)


def _answer(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes) -> None:
    try:
        request.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                request.send_header(name, value)
        if "content-length" not in {name.lower() for name in headers}:
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)
    except OSError:
        request.close_connection = True  # who asked is gone


def _ignore(method: str, path: str) -> None:
    pass
