"""Envelope, version 0: a client's request that a broker carried to the active controller (KIP-590)."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.forward import open_envelope
from tapelog.server.node_api import NodeApi
from tapelog.wire.messages.envelope_request import EnvelopeRequest


def handle(node: NodeApi, call: Call, request: EnvelopeRequest) -> None:
    """Run the request inside as its client; the envelope of the answer holds its bytes."""
    open_envelope(node, call, request)
