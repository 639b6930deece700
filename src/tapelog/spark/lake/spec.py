"""A lake table as its user names it: where, which format, how it is partitioned. Checked here, without any I/O.

    table("file:///lake/orders", format="iceberg", partition="day(timestamp)")

What is returned is frozen and travels to executors; credentials in it print as dots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, get_args

from tapelog.client.secret import Secret
from tapelog.spark.lake.errors import LakeError

Format = Literal["iceberg", "delta", "parquet"]
Every = Literal["day", "hour"]
OnFar = Literal["fail", "null"]

SCHEMES: Final = ("file", "s3", "gs", "az")
FILE_BYTES: Final = 128 * 1024 * 1024
"""A data file is closed when it has about so many bytes, and files are compacted up to it."""
FILE_BYTES_MIN: Final = 64 * 1024

_OPTIONS: Final = ("path", "format", "partition", "identifier", "fileBytes", "onFarTimestamp")
_PARTITION: Final = re.compile(r"(day|hour)\(\s*([A-Za-z_][\w]*)\s*\)")
_IDENTIFIER: Final = re.compile(r"[\w-]+(\.[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Partitioning:
    """By the day or hour (UTC) of a column: event time."""

    column: str
    every: Every

    @property
    def name(self) -> str:
        """Of the partition: a directory's name, and a column in Delta and Parquet tables."""
        return f"{self.column}_{self.every}"


@dataclass(frozen=True, slots=True)
class Table:
    """Where a table is and how it is laid out. A value: nothing has been opened."""

    url: str
    format: Format
    partition: Partitioning | None
    identifier: str
    """The name in an Iceberg catalog: namespace.table."""
    catalog: tuple[tuple[str, Secret], ...]
    """Properties for pyiceberg's load_catalog; none: a SQL catalog in a file beside the table."""
    storage: tuple[tuple[str, Secret], ...]
    """Options of the object store, by the names of obstore and deltalake: aws_endpoint, aws_access_key_id, …"""
    file_bytes: int = FILE_BYTES
    on_far_timestamp: OnFar = "fail"
    """What becomes of a batch with times outside the years 1 to 9999: it is refused, or such times become null."""

    @property
    def scheme(self) -> str:
        """file, s3, gs or az."""
        return self.url.partition("://")[0]

    @property
    def directory(self) -> str:
        """The path of a table on a local disk."""
        assert self.scheme == "file"
        return "/" + self.url.removeprefix("file://").lstrip("/")


def table(
    url: str,
    *,
    format: str = "iceberg",
    partition: str = "day(timestamp)",
    identifier: str = "",
    catalog: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    file_bytes: int = FILE_BYTES,
    on_far_timestamp: str = "fail",
) -> Table:
    """A table at a URL (file:///…, s3://bucket/…, gs://…, az://…), created by the first batch that is written.

    `partition` is day(column), hour(column) or empty. Iceberg: without `catalog` a SQL catalog is kept in catalog.db
    beside a local table; {"type": "rest", "uri": …} or any other properties of pyiceberg name another one,
    `identifier` the table in it (default: lake.<last part of the URL>). `on_far_timestamp`="null" writes null in place
    of times outside the years 1 to 9999, which stop the query otherwise. LakeError, at most three lines, for what
    cannot be.
    """
    scheme, separator, rest = url.partition("://")
    if url.startswith("/"):
        scheme, separator, rest, url = "file", "://", url, f"file://{url}"
    if not separator or scheme not in SCHEMES or not rest.strip("/"):
        raise LakeError(
            f"{url!r} is no place for a lake table.",
            "Write file:///directory, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.",
        )
    if format not in get_args(Format):
        raise LakeError(f"format {format!r} is none of {', '.join(get_args(Format))}.", f"Change it for {url}.")
    if file_bytes < FILE_BYTES_MIN:
        raise LakeError(
            f"file_bytes={file_bytes} is too small: {FILE_BYTES_MIN} is the least.", "Leave it out for 128 MiB."
        )
    if on_far_timestamp not in get_args(OnFar):
        raise LakeError(f"on_far_timestamp {on_far_timestamp!r} is none of fail, null.", f"Change it for {url}.")
    if scheme != "file" and format == "iceberg" and not catalog:
        raise LakeError(
            f"An Iceberg table at {url} needs a catalog: only a local table keeps one beside itself.",
            'Give catalog={"type": "rest", "uri": …} or {"type": "sql", "uri": …}, or choose format="delta".',
        )
    url = url.rstrip("/")
    chosen: Format = "delta" if format == "delta" else "parquet" if format == "parquet" else "iceberg"
    identifier = identifier or "lake." + (re.sub(r"[^\w-]", "_", url.rpartition("/")[2]) or "table")
    if not _IDENTIFIER.fullmatch(identifier):
        raise LakeError(f"identifier {identifier!r} is no name of a table.", "Write namespace.table.")
    return Table(
        url,
        chosen,
        partitioning(partition),
        identifier,
        _hidden(catalog),
        _hidden(storage),
        file_bytes,
        "null" if on_far_timestamp == "null" else "fail",
    )


def from_options(options: Mapping[str, str]) -> Table:
    """The same from text options, as pipelines give them: path, format, partition, identifier, fileBytes, catalog.*,
    storage.*. An unknown one is an error that names the nearest."""
    plain: dict[str, str] = {}
    catalog: dict[str, str] = {}
    storage: dict[str, str] = {}
    for name, value in options.items():
        prefix, dot, rest = name.partition(".")
        if dot and prefix in ("catalog", "storage"):
            (catalog if prefix == "catalog" else storage)[rest] = value
        elif name in _OPTIONS:
            plain[name] = value
        else:
            near = get_close_matches(name, _OPTIONS, 1)
            raise LakeError(
                f"Option {name} of a lake table does not exist" + (f": did you mean {near[0]}?" if near else "."),
                f"There are {', '.join(_OPTIONS)}, catalog.… and storage.….",
            )
    if "path" not in plain:
        raise LakeError(
            "Option path is missing: where the lake table is.", "Write path = file:///lake/orders, for example."
        )
    size = plain.get("fileBytes", str(FILE_BYTES))
    if not size.isdecimal():
        raise LakeError(f"Option fileBytes has {size!r}, which is no number of bytes.")
    return table(
        plain["path"],
        format=plain.get("format", "iceberg"),
        partition=plain.get("partition", "day(timestamp)"),
        identifier=plain.get("identifier", ""),
        catalog=catalog,
        storage=storage,
        file_bytes=int(size),
        on_far_timestamp=plain.get("onFarTimestamp", "fail"),
    )


def partitioning(text: str) -> Partitioning | None:
    """day(column), hour(column), or nothing."""
    if not text:
        return None
    found = _PARTITION.fullmatch(text.strip())
    if found is None:
        raise LakeError(
            f"partition {text!r} cannot be used.",
            "Write day(column) or hour(column), with a timestamp; or leave it empty.",
        )
    every: Every = "hour" if found[1] == "hour" else "day"
    return Partitioning(found[2], every)


def _hidden(given: Mapping[str, str] | None) -> tuple[tuple[str, Secret], ...]:
    return tuple((name, Secret(str(value))) for name, value in sorted((given or {}).items()))


def revealed(given: tuple[tuple[str, Secret], ...]) -> dict[str, str]:
    """Options with their values, for the library that needs them."""
    return {name: value.text() for name, value in given}
