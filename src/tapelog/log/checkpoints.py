"""The small text files of a log directory, in Kafka's formats: parse and render, nothing else.

Offset checkpoints, leader epochs, partition.metadata, meta.properties and the clean-shutdown marker. Who reads
and writes them, and when, is decided by `log.Log` and `manager.LogDirectory`.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping

TopicPartition = tuple[str, int]


class CheckpointError(Exception):
    """A checkpoint file does not have the form it should have."""


def _lines(data: bytes, what: str) -> list[str]:
    """The entries after version and count, checked."""
    try:
        lines = data.decode().split("\n")
        version, count = int(lines[0]), int(lines[1])
    except (UnicodeDecodeError, ValueError, IndexError) as error:
        raise CheckpointError(f"{what}: unreadable header") from error
    entries = [line for line in lines[2:] if line]
    if version != 0:
        raise CheckpointError(f"{what}: version {version} is not 0")
    if count != len(entries):
        raise CheckpointError(f"{what}: {len(entries)} entries where {count} were announced")
    return entries


def render_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """`topic partition offset` per line, sorted."""
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in sorted(offsets.items())]
    return f"0\n{len(lines)}\n{''.join(lines)}".encode()


class OffsetLines:
    """Renders the same file again and again, as `render_offsets` would: only what has changed costs something. With
    very many lines a thread that renders them all would keep the loop from the interpreter for long."""

    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, int] = {}
        self._lines: dict[TopicPartition, str] = {}

    def render(self, offsets: Mapping[TopicPartition, int]) -> bytes:
        """The file that says these offsets."""
        known, lines = self._offsets, self._lines
        if known.keys() != offsets.keys():
            lines = self._lines = {key: f"{key[0]} {key[1]} {offsets[key]}\n" for key in sorted(offsets)}
        else:
            for key, offset in offsets.items():
                if known[key] != offset:
                    lines[key] = f"{key[0]} {key[1]} {offset}\n"
        self._offsets = dict(offsets)
        return f"0\n{len(lines)}\n{''.join(lines.values())}".encode()


def parse_offsets(data: bytes, what: str) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint file; CheckpointError if it is damaged."""
    offsets: dict[TopicPartition, int] = {}
    for line in _lines(data, what):
        fields = line.split(" ")
        try:
            topic, partition, offset = fields
            offsets[topic, int(partition)] = int(offset)
        except ValueError as error:
            raise CheckpointError(f"{what}: malformed line {line!r}") from error
    return offsets


def render_epochs(entries: list[tuple[int, int]]) -> bytes:
    """`epoch start_offset` per line."""
    return f"0\n{len(entries)}\n{''.join(f'{epoch} {start}{chr(10)}' for epoch, start in entries)}".encode()


def parse_epochs(data: bytes, what: str) -> list[tuple[int, int]]:
    """The leader epochs of a file; CheckpointError if it is damaged."""
    entries = []
    for line in _lines(data, what):
        try:
            epoch, start = line.split(" ")
            entries.append((int(epoch), int(start)))
        except ValueError as error:
            raise CheckpointError(f"{what}: malformed line {line!r}") from error
    return entries


def uuid_text(uuid: bytes) -> str:
    """Kafka's text of a uuid: 22 characters of URL-safe base64."""
    return binascii.b2a_base64(uuid, newline=False).decode().replace("+", "-").replace("/", "_").rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of such a text; ValueError if it is none."""
    value = binascii.a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
    if len(value) != 16:
        raise ValueError(f"not a uuid: {text!r}")
    return value


def render_partition_metadata(topic_id: bytes) -> bytes:
    """The file that ties a partition directory to its topic's id."""
    return f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode()


def parse_partition_metadata(data: bytes) -> bytes:
    """The topic id in it; CheckpointError if it is damaged."""
    fields = _fields(data.decode(errors="replace"), ":")
    try:
        if int(fields["version"]) != 0:
            raise CheckpointError(f"partition.metadata: version {fields['version']} is not 0")
        return uuid_bytes(fields["topic_id"])
    except (KeyError, ValueError) as error:
        raise CheckpointError("partition.metadata: malformed") from error


def render_meta_properties(*, cluster_id: str, node_id: int, directory_id: bytes) -> bytes:
    """Who owns a data directory, version 1 (KRaft)."""
    return (
        f"#\ncluster.id={cluster_id}\ndirectory.id={uuid_text(directory_id)}\nnode.id={node_id}\nversion=1\n".encode()
    )


def parse_meta_properties(data: bytes) -> dict[str, str]:
    """Its properties by name."""
    return _fields(data.decode(errors="replace"), "=")


def _fields(text: str, separator: str) -> dict[str, str]:
    fields = {}
    for line in text.split("\n"):
        name, found, value = line.partition(separator)
        if found and not line.startswith("#"):
            fields[name.strip()] = value.strip()
    return fields


def render_clean_shutdown(broker_epoch: int) -> bytes:
    """The marker that says every log was closed properly, and in which incarnation."""
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode()


def parse_clean_shutdown(data: bytes) -> int:
    """The broker epoch in it; -1 where there is none (older versions left it empty)."""
    import json

    try:
        return int(json.loads(data)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return -1
