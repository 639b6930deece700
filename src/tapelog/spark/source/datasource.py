"""The data source as Spark knows it: its name, its schema, its readers and writers."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tapelog.spark.plan import OptionError, ReadOptions, columns_asked, formats_asked, read_options, shown_columns
from tapelog.spark.plan.formats import Chosen
from tapelog.spark.source.batch import BatchReader
from tapelog.spark.source.errors import TapelogError, explained
from tapelog.spark.source.refusing import RefusingReader
from tapelog.spark.source.stream import StreamReader
from tapelog.spark.source.workers import VARIABLE

LOG = logging.getLogger("tapelog.spark")

_KNOWN: Final = "DATA_SOURCE_ALREADY_EXISTS"
_STAYS: Final = (
    'PySpark 4.0 keeps the format("tapelog") that Spark has found by itself, in the Python that is first in PATH: it '
    "may be of another version, and lack what this Python has.\n"
    "Set PYSPARK_PYTHON to the Python that runs this program, before it begins."
)
_TOLD: Final[set[str]] = set()
"""Warnings that this process has given."""
_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}


def schema_of(columns: tuple[str, ...], decoded: dict[str, DataType] | None = None) -> Any:
    """Spark's schema of these columns: that of its Kafka source, but for what is decoded."""
    types = _TYPES | (decoded or {})
    return StructType([StructField(name, types[name]) for name in columns])


class TapelogDataSource(DataSource):  # type: ignore[misc]
    """Reads and writes any Kafka-protocol cluster: `format("tapelog")` of read, readStream, write and writeStream."""

    @classmethod
    def name(cls) -> str:
        """As in format("tapelog")."""
        return "tapelog"

    def schema(self) -> Any:
        """The columns that the options ask for; where they are decoded, by schemas that are chosen here, once."""
        with explained():
            given = dict(self.options)
            formats, topics = formats_asked(given)
            if formats is None:
                return schema_of(columns_asked(given))
            from tapelog.spark.formats.choosing import choose
            from tapelog.spark.formats.decoding import types_of
            from tapelog.spark.formats.spark_types import spark_type

            self._chosen: tuple[Chosen, ...] = choose(formats, topics)
            types = {name: spark_type(kind) for name, kind in types_of(self._chosen, formats).items()}
            return schema_of(shown_columns(columns_asked(given), formats), types)

    def reader(self, schema: Any) -> BatchReader:
        """For spark.read."""
        return BatchReader(self._options(schema, streaming=False))

    def streamReader(self, schema: Any) -> StreamReader | RefusingReader:
        """For spark.readStream."""
        try:
            return StreamReader(self._options(schema, streaming=True))
        except TapelogError as error:
            return RefusingReader(error)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        """For df.write."""
        from tapelog.spark.sink.making import batch_writer

        with explained():
            return batch_writer(dict(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """For df.writeStream."""
        from tapelog.spark.sink.making import stream_writer

        with explained():
            return stream_writer(dict(self.options), schema)

    def _options(self, schema: Any, *, streaming: bool) -> ReadOptions:
        with explained():
            options = read_options(dict(self.options), streaming=streaming)
            options = self._with_schemas(options)
            if schema.names != list(options.shown):
                raise OptionError(
                    f"schema(…) asks for {', '.join(schema.names)}: the columns of a topic are fixed.",
                    f"Leave it out, or choose some of them by option columns; here: {', '.join(options.shown)}.",
                )
        # this instance travels to the executors with its reader: secrets go there inside the reader's options only
        self.options: dict[str, str] = {}
        return options

    def _with_schemas(self, options: ReadOptions) -> ReadOptions:
        """With the schemas that `schema` chose, in whichever process it was called."""
        if options.formats is None:
            return options
        chosen = getattr(self, "_chosen", None)
        if chosen is None:
            from tapelog.spark.formats.choosing import choose

            chosen = choose(options.formats, options.topics)
        return replace(options, chosen=chosen)


def register(spark: Any, *, publish: bool = True, brief: bool = True) -> None:
    """Make format("tapelog") known to this session; where `pyspark_tapelog` is installed, Spark finds it by itself.

    With `publish`, streaming queries of the session publish their progress to a consumer group of their name. With
    `brief`, errors that explain themselves are told in their three lines instead of frames (`telling`). Secrets among
    options are hidden where Spark prints them (`redaction`). In local mode workers run this Python and
    import this PySpark (`workers`).
    """
    from tapelog.spark.listener.ending import hear_everything
    from tapelog.spark.source.redaction import hide_secrets
    from tapelog.spark.source.workers import prepare as prepare_workers

    prepare_workers(spark)
    hide_secrets(spark)
    if brief:
        from tapelog.spark.source.telling import tell_briefly

        tell_briefly(spark)  # before Spark warns that we replace the source that it has found by itself
    _make_known(spark)
    if publish:
        from tapelog.spark.listener.listener import add_listener

        add_listener(spark)
    if brief or publish:
        hear_everything(spark)


def _make_known(spark: Any) -> None:
    """PySpark 4.0 refuses a source that Spark has found by itself, by `pyspark_tapelog`: that one stays."""
    try:
        spark.dataSource.register(TapelogDataSource)
    except AnalysisException as error:
        if error.getCondition() != _KNOWN:
            raise
        if VARIABLE not in os.environ and _STAYS not in _TOLD:
            _TOLD.add(_STAYS)
            LOG.warning(_STAYS)
