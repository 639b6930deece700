"""kafka.* into the client's one value: addresses, time limits, security."""

from __future__ import annotations

from tapelog.client.settings import ConnectionSettings, parse_addresses
from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.given import INT_MAX, Given
from tapelog.spark.plan.security import security

DEFAULTS = ConnectionSettings(bootstrap=())


def connection_settings(given: Given) -> tuple[ConnectionSettings, tuple[str, ...]]:
    """How to reach the cluster, and warnings about options that play no part."""
    servers = given.text("kafka.bootstrap.servers")
    if not servers:
        raise OptionError(
            "Option kafka.bootstrap.servers is missing: which cluster is to be read?",
            "Set it to host:port of some brokers, separated by commas.",
        )
    try:
        bootstrap = parse_addresses(servers)
    except ValueError:
        raise given.wrong("kafka.bootstrap.servers", "host:port, separated by commas") from None
    tls, sasl, warnings = security(given)
    settings = ConnectionSettings(
        bootstrap=bootstrap,
        tls=tls,
        sasl=sasl,
        client_id=given.text("kafka.client.id") or DEFAULTS.client_id,
        client_rack=given.text("kafka.client.rack") or "",
        connect_timeout_ms=_ms(given, "socket.connection.setup.timeout.ms", DEFAULTS.connect_timeout_ms),
        request_timeout_ms=_ms(given, "request.timeout.ms", DEFAULTS.request_timeout_ms),
        api_timeout_ms=_ms(given, "default.api.timeout.ms", DEFAULTS.api_timeout_ms),
        retry_backoff_ms=_ms(given, "retry.backoff.ms", DEFAULTS.retry_backoff_ms),
        retry_backoff_max_ms=_ms(given, "retry.backoff.max.ms", DEFAULTS.retry_backoff_max_ms),
        metadata_max_age_ms=_ms(given, "metadata.max.age.ms", DEFAULTS.metadata_max_age_ms),
        connections_max_idle_ms=_ms(given, "connections.max.idle.ms", DEFAULTS.connections_max_idle_ms),
        receive_buffer_bytes=_buffer(given, "receive.buffer.bytes"),
        send_buffer_bytes=_buffer(given, "send.buffer.bytes"),
    )
    return settings, warnings


def _ms(given: Given, name: str, default: int) -> int:
    return given.number(f"kafka.{name}", default, least=0, most=INT_MAX)


def _buffer(given: Given, name: str) -> int:
    return given.number(f"kafka.{name}", -1, least=-1, most=INT_MAX)
