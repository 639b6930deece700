"""The data source as Spark knows it: its name, its schema, its readers."""

from __future__ import annotations

from typing import Any, Final

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

from tapelog.spark.plan import OptionError, ReadOptions, columns_asked, read_options
from tapelog.spark.source.batch import BatchReader
from tapelog.spark.source.errors import explained
from tapelog.spark.source.stream import StreamReader

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


def schema_of(columns: tuple[str, ...]) -> Any:
    """Spark's schema of these columns: that of its Kafka source."""
    return StructType([StructField(name, _TYPES[name]) for name in columns])


class TapelogDataSource(DataSource):  # type: ignore[misc]
    """Reads any Kafka-protocol cluster: `spark.read.format("tapelog")`, `spark.readStream.format("tapelog")`."""

    @classmethod
    def name(cls) -> str:
        """As in format("tapelog")."""
        return "tapelog"

    def schema(self) -> Any:
        """The columns that the options ask for."""
        with explained():
            return schema_of(columns_asked(dict(self.options)))

    def reader(self, schema: Any) -> BatchReader:
        """For spark.read."""
        return BatchReader(self._options(schema, streaming=False))

    def streamReader(self, schema: Any) -> StreamReader:
        """For spark.readStream."""
        return StreamReader(self._options(schema, streaming=True))

    def _options(self, schema: Any, *, streaming: bool) -> ReadOptions:
        with explained():
            options = read_options(dict(self.options), streaming=streaming)
            if schema.names != list(options.columns):
                raise OptionError(
                    f"schema(…) asks for {', '.join(schema.names)}: the columns of a topic are fixed.",
                    f"Leave it out, or choose some of them by option columns; here: {', '.join(options.columns)}.",
                )
        # this instance travels to the executors with its reader: secrets go there inside the reader's options only
        self.options: dict[str, str] = {}
        return options


def register(spark: Any) -> None:
    """Make format("tapelog") known to this session; where `pyspark_tapelog` is installed, Spark finds it by itself."""
    spark.dataSource.register(TapelogDataSource)
