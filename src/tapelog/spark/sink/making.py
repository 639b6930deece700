"""A writer from options and a schema: everything that can be wrong is found here, on the driver, before rows move."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tapelog.client.pool import lend
from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.formats import write_formats
from tapelog.spark.plan.given import Given
from tapelog.spark.plan.names import is_format_option
from tapelog.spark.plan.write_columns import layout_of
from tapelog.spark.plan.write_options import WriteOptions, write_options
from tapelog.spark.sink.rows import arrow_schema
from tapelog.spark.sink.writers import BatchWriter, Sink, StreamWriter

LOG = logging.getLogger("tapelog.spark")


def batch_writer(given: Mapping[str, str], schema: Any, *, overwrite: bool) -> BatchWriter:
    """For df.write; OptionError if it cannot be written so."""
    if overwrite:
        raise OptionError("A topic cannot be overwritten: records are only ever added.", 'Write with mode("append").')
    return BatchWriter(_sink(given, schema, streaming=False))


def stream_writer(given: Mapping[str, str], schema: Any) -> StreamWriter:
    """For df.writeStream; every output mode adds records, as with Spark's own sink."""
    return StreamWriter(_sink(given, schema, streaming=True))


def _sink(given: Mapping[str, str], schema: Any, *, streaming: bool) -> Sink:
    options = write_options(given, streaming=streaming)
    for warning in options.warnings:
        LOG.warning(warning)
    encoding, encoded = _encoding(given, options, schema)
    layout = layout_of(
        [(field.name, field.dataType.simpleString()) for field in schema.fields],
        topic=options.topic,
        include_headers=options.include_headers,
        include_timestamp=options.include_timestamp,
        encoded=encoded,
    )
    if options.topic is not None:
        with lend(options.connection) as cluster:
            cluster.topic(options.topic)
    return Sink(options, layout, schema, encoding)


def _encoding(given: Mapping[str, str], options: WriteOptions, schema: Any) -> tuple[Any, tuple[str, ...]]:
    """How keys and values are encoded before they are written, where options say so; and which columns that makes."""
    if not any(is_format_option(name, writing=True) for name in given):
        return None, ()
    from tapelog.spark.formats.encoding import prepare

    formats = write_formats(Given(given))
    if formats is None:
        return None, ()
    columns = tuple(name for name in ("key", "value") if f"{name}format" in {one.lower() for one in given})
    return prepare(formats, arrow_schema(schema), options.topic), columns
