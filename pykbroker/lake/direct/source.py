"""``spark.read.format("pykbroker")`` and ``spark.readStream``: a broker's log directories as a table, in PySpark's data source API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pykbroker.lake.direct.batches import Piece
from pykbroker.lake.direct.columns import Columns, columns_of, schema_of
from pykbroker.lake.direct.log_files import LogFiles
from pykbroker.lake.direct.planning import divided
from pykbroker.lake.direct.python_workers import forget_own_archives
from pykbroker.lake.direct.reading import read_piece
from pykbroker.lake.direct.source_options import DirectSourceOptions
from pykbroker.lake.direct.stream_offsets import Position, between
from pykbroker.lake.ledger import LakePartition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Registers the format ``pykbroker`` in a session. By itself, Spark finds only sources in packages named ``pyspark_*``."""
    spark.dataSource.register(Segments)


class Segments(DataSource):
    """The format ``pykbroker``. Spark creates it in a process for ``load``, and asks a copy in another process for each query's tasks."""

    def __init__(self, options: dict[str, str]) -> None:
        forget_own_archives()
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "pykbroker"

    def schema(self) -> str:
        return schema_of(DirectSourceOptions(self.options).manner.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        forget_own_archives()
        return SegmentsReader(DirectSourceOptions(self.options), columns_of(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - the API's
        return SegmentsStream(DirectSourceOptions(self.options, streaming=True), columns_of(schema))


class SegmentsReader(DataSourceReader):
    """A batch query: the records that are there when it is planned."""

    def __init__(self, wanted: DirectSourceOptions, columns: Columns) -> None:
        self._wanted = wanted
        self._manner = replace(wanted.manner, columns=columns)

    def partitions(self) -> list[InputPartition]:
        logs = self._wanted.logs()
        limits = {place: self._wanted.limit(log) for place, log in logs.items()}
        starts, ends = self._wanted.starts(logs, limits), self._wanted.ends(logs, limits)
        whole = [Piece(log, starts[place], min(ends[place], limits[place])) for place, log in logs.items()]
        if self._wanted.manner.newest_of_key:
            return [piece for piece in whole if piece.start < piece.until]
        return divided(whole, self._wanted.min_partitions)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # there was nothing to divide; PySpark runs one task nevertheless
            return iter(())
        assert isinstance(partition, Piece)
        return read_piece(partition, self._manner)


class SegmentsStream(DataSourceStreamReader):
    """A streaming query: also the records that are added while it runs."""

    def __init__(self, wanted: DirectSourceOptions, columns: Columns) -> None:
        self._wanted = wanted
        self._manner = replace(wanted.manner, columns=columns)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the API's
        logs = self._wanted.logs()
        return Position.of(self._wanted.starts(logs, self._limits(logs)), logs).to_spark()

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - the API's
        logs = self._wanted.logs()
        return Position.of(self._limits(logs), logs).to_spark()

    def _limits(self, logs: Mapping[LakePartition, LogFiles]) -> dict[LakePartition, int]:
        return {place: self._wanted.limit(log) for place, log in logs.items()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begin, until = Position.from_spark(start), Position.from_spark(end)
        whole = between(begin, until, self._wanted.logs(), fail_on_data_loss=self._wanted.manner.fail_on_data_loss)
        return divided(whole, self._wanted.min_partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Piece)
        return read_piece(partition, self._manner)
