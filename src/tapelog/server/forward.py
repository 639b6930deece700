"""Requests that only the active controller serves, on their way there and back in an Envelope (KIP-590).

The client's bytes travel as they are, with who it is and where it comes from; the answer's bytes come back as they are.
On the other side `open_envelope` starts the request as if it had come from that client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tapelog.server.call import Call, LocalCall
from tapelog.server.connection import Connection
from tapelog.server.routes import FORWARDED, ON_CONTROLLER, ROUTES
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.envelope_request import EnvelopeRequest
from tapelog.wire.messages.envelope_response import EnvelopeResponse
from tapelog.wire.primitives import Reader, WireError, Writer
from tapelog.wire.records.default_principal_data import DefaultPrincipalData

if TYPE_CHECKING:
    from tapelog.server.node_api import NodeApi

NOT_CONTROLLER: Final = int(ErrorCode.NOT_CONTROLLER)
DEPTH_MAX: Final = 4
"""How deep inside a response NOT_CONTROLLER is looked for."""


def forward(node: NodeApi, call: Call, data: bytes) -> None:
    """Carry a client's request to the active controller and answer with what it says."""
    connection = call.connection
    envelope = EnvelopeRequest(
        request_data=data,
        request_principal=principal_bytes(connection.principal),
        client_host_address=address_bytes(connection.peer_host),
    )

    def answered(response: Message | KafkaError) -> None:
        if isinstance(response, KafkaError):
            call.outcome(response)
        elif not isinstance(response, EnvelopeResponse) or response.error_code or response.response_data is None:
            code = response.error_code if isinstance(response, EnvelopeResponse) else 0
            call.outcome(KafkaError(ErrorCode(code or -1), "the controller could not take the request"))
        else:
            call.reply_bytes(response.response_data)

    node.to_controller(envelope, 0, node.setting_int("request.timeout.ms"), answered)


def open_envelope(node: NodeApi, outer: Call, envelope: EnvelopeRequest) -> None:
    """Start the request inside, on the client's behalf; the outer call is answered with its answer."""
    data = envelope.request_data
    try:
        reader = Reader(data, 0, len(data))
        api_key, version, correlation_id = reader.i16(), reader.i16(), reader.i32()
        client_id = reader.nullable_string() or ""
        route = ROUTES[api_key] if 0 <= api_key < len(ROUTES) else None
        if route is None or route.on != FORWARDED:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"API {api_key} is not one that is forwarded")
        if not route.min_version <= version <= route.max_version:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{route.name} v{version}")
        if version >= route.flexible_from:
            reader.skip_tags()
        request = route.decode(reader, version)
        principal = principal_text(envelope.request_principal)
        peer_host = address_text(envelope.client_host_address)
    except WireError as bad:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a malformed request in an envelope: {bad}") from bad
    if not node.controls:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller")
    client = stand_in(outer.connection, peer_host, principal)
    flexible = version >= route.flexible_from

    def answered(response: Message | None) -> None:
        if response is None:
            outer.outcome(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, ""))
        elif mentions(response, NOT_CONTROLLER):
            outer.reply(EnvelopeResponse(error_code=NOT_CONTROLLER))
        else:
            writer = Writer()
            writer.i32(correlation_id)
            if flexible:
                writer.uvarint(0)
            response.encode(writer, version)
            outer.reply(EnvelopeResponse(response_data=writer.tobytes()))

    inner = LocalCall(client, api_key, version, client_id, answered)
    client.dispatcher.start(route, inner, request)


def stand_in(like: Connection, peer_host: str, principal: str) -> Connection:
    """A connection that stands for a client elsewhere, or for this node itself: nothing is ever sent on it."""
    made = Connection(like.dispatcher, 0, peer_host, like.listener, like.request_bytes_max)
    made.side = ON_CONTROLLER
    made.principal = principal
    return made


def mentions(value: Any, code: int, depth: int = DEPTH_MAX) -> bool:
    """Whether a response carries that error code anywhere."""
    if isinstance(value, Message):
        if getattr(value, "error_code", 0) == code:
            return True
        return depth > 0 and any(mentions(getattr(value, name), code, depth - 1) for name in value.FIELDS)
    return isinstance(value, list) and any(mentions(item, code, depth) for item in value)


def principal_bytes(principal: str) -> bytes:
    """`User:name` as Kafka serializes it: the version of the schema, then the schema."""
    kind, _, name = principal.partition(":")
    return b"\0\0" + DefaultPrincipalData(type=kind, name=name).tobytes(0)


def principal_text(data: bytes | None) -> str:
    """The inverse; WireError if it is none."""
    if data is None or data[:2] != b"\0\0":
        raise WireError("no principal we know how to read")
    read = DefaultPrincipalData.decode(Reader(data, 2, len(data)), 0)
    return f"{read.type}:{read.name}"


def address_bytes(host: str) -> bytes:
    """An IP address in network order; that of nobody for what is none."""
    if ":" not in host:
        parts = host.split(".")
        return bytes(map(int, parts)) if len(parts) == 4 and all(map(str.isdecimal, parts)) else bytes(4)
    host = host.partition("%")[0]
    head, gap, tail = host.partition("::")
    left, right = _groups(head), _groups(tail)
    return left + bytes(16 - len(left) - len(right) if gap else 0) + right


def address_text(data: bytes) -> str:
    """The inverse, uncompressed where it is IPv6; WireError for another length."""
    if len(data) == 4:
        return ".".join(map(str, data))
    if len(data) != 16:
        raise WireError(f"a client address of {len(data)} bytes")
    return ":".join(f"{data[at] << 8 | data[at + 1]:x}" for at in range(0, 16, 2))


def _groups(text: str) -> bytes:
    out = b""
    for part in text.split(":") if text else []:
        out += address_bytes(part) if "." in part else int(part, 16).to_bytes(2, "big")
    return out
