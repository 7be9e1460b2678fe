"""A source whose rows are ready: it measures what PySpark takes to bring rows from Python, the minimum of any source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pykbroker.lake.direct.columns import ALL, Columns, schema_of
from pykbroker.lake.direct.python_workers import forget_own_archives

_ROWS = 16_384


def register(spark: SparkSession) -> None:
    spark.dataSource.register(Ready)


class Ready(DataSource):
    """The format ``ready``: ``records`` rows of ``bytes`` bytes each, in ``tasks`` tasks."""

    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> str:
        return schema_of(Columns(ALL))

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(self.options, schema.fieldNames())


class Task(InputPartition):
    def __init__(self, records: int) -> None:
        super().__init__(None)
        self.records = records


class Reader(DataSourceReader):
    def __init__(self, options: dict[str, str], names: list[str]) -> None:
        forget_own_archives()
        self._size = int(options["bytes"])
        self._tasks = int(options["tasks"])
        self._records = int(options["records"])
        self._names = tuple(names)

    def partitions(self) -> list[InputPartition]:
        share, rest = divmod(self._records, self._tasks)
        return [Task(share + (number < rest)) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        forget_own_archives()
        rows = _rows(self._names, self._size)
        for begin in range(0, partition.records, _ROWS):
            yield rows.slice(0, min(_ROWS, partition.records - begin))


@cache
def _rows(names: tuple[str, ...], size: int) -> pa.RecordBatch:
    """Created once in a worker, so that a warm round measures only the path into Spark."""
    columns = {
        "key": pa.repeat(b"key-123", _ROWS),
        "value": pa.repeat(bytes(size), _ROWS),
        "topic": pa.repeat("bench", _ROWS),
        "partition": pa.repeat(pa.scalar(0, pa.int32()), _ROWS),
        "offset": pa.array(range(_ROWS)),
        "timestamp": pa.array(range(_ROWS), pa.timestamp("us", "UTC")),
        "timestampType": pa.repeat(pa.scalar(0, pa.int32()), _ROWS),
    }
    return pa.RecordBatch.from_pydict({name: columns[name] for name in names})
