"""From an API key to its message classes, imported only when asked for.

For tools and tests that deal with any API; the server's routes table names its classes itself.
"""

from __future__ import annotations

import re
from importlib import import_module

from tapelog.wire.api_keys import NAMES, VERSIONS
from tapelog.wire.message import Message


def _load(name: str) -> type[Message]:
    module = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    found: type[Message] = getattr(import_module(f"tapelog.wire.messages.{module}"), name)
    assert issubclass(found, Message)
    return found


def request_class(api_key: int) -> type[Message]:
    """The request of that API; KeyError if there is none."""
    VERSIONS[api_key]
    return _load(f"{NAMES[api_key]}Request")


def response_class(api_key: int) -> type[Message]:
    """The response of that API; KeyError if there is none."""
    VERSIONS[api_key]
    return _load(f"{NAMES[api_key]}Response")
