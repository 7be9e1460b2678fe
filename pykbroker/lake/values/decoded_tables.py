"""The files of a topic's decoding, in ``decoded/TOPIC`` of the lake.

how.json   records/ (decoded)   quarantine/records/ (not decodable)   plans/ and ledger/000000000007.json   schemas/17.json
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pykbroker.lake.errors import rebuild_hint, written_by
from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.lake import KEPT, TABLES, Lake
from pykbroker.lake.record_columns import SCHEMA
from pykbroker.lake.tables.table import Shape, Table
from pykbroker.lake.values.column_names import DATE
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat
from pykbroker.lake.values.decode_progress import DecodeAccount, PlannedBatch
from pykbroker.lake.values.decode_state import DECODED, LEDGER, OPTIONS_FILE, Known, all_known
from pykbroker.lake.values.types import Columns, ddl_of

QUARANTINE = Shape(f"{SCHEMA}, error STRING")
_PLANS, SCHEMAS = "plans", "schemas"


class DecodedTopic(Known):
    """The decoded values of one topic."""

    folder: Folder

    def __init__(self, lake: Lake, topic: str) -> None:
        super().__init__(lake.folder.within(f"{DECODED}/{topic}"), topic)
        self.lake = lake
        self._table = TABLES[lake.description.format]

    def keep_options(self, options: DecodeOptions) -> None:
        """Write ``options`` if it has changed."""
        if options != self.options:
            self.folder.write(OPTIONS_FILE, options.to_json())
            self.options = options

    def values(self, columns: Columns) -> Table:
        """The table of decoded values, with these columns after the record's own."""
        assert self.options is not None, "keep_how was called before"
        key = "STRING" if self.options.key is KeyFormat.TEXT else "BINARY"
        before = f"kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP, kafka_key {key}"
        headers = "kafka_headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
        own = f"{before}, {headers}, kafka_tombstone BOOLEAN"
        schema = ", ".join(filter(None, (own, ddl_of(columns), f"{DATE} DATE")))
        return self._table(
            self.lake.spark,
            self.folder,
            Shape(schema, (DATE,), ("kafka_partition", "kafka_offset"), grows=True),
            self.lake.history,
        )

    @property
    def quarantine(self) -> Table:
        return self._table(self.lake.spark, self.folder.within("quarantine"), QUARANTINE, self.lake.history)

    @property
    def tables(self) -> tuple[Table, Table]:
        return self.values(self.account().columns), self.quarantine

    def read(self) -> DataFrame:
        return self.values(self.account().columns).read()

    # What is written down

    def keep_account(self, account: DecodeAccount) -> None:
        """Write an account, and remove those that are no longer needed."""
        self.folder.write(f"{LEDGER}/{account.batch:012d}.json", account.to_json())
        for name in (LEDGER, _PLANS):
            self.folder.delete(f"{name}/{account.batch - KEPT:012d}.json")

    def plan(self, batch: int) -> PlannedBatch | None:
        """The plan of a batch; None if it has not begun. Raises LakeError if it is damaged."""
        name = f"{_PLANS}/{batch:012d}.json"
        text = self.folder.read(name)
        with written_by("decode", self.folder.at(name), f"{rebuild_hint(self.topic)}."):
            return None if text is None else PlannedBatch.from_json(text)

    def keep_plan(self, plan: PlannedBatch) -> None:
        self.folder.write(f"{_PLANS}/{plan.batch:012d}.json", plan.to_json())

    def schemas(self) -> dict[int, dict[str, Any]]:
        """The schemas that were fetched from the registry, by id. Raises LakeError if one is damaged."""
        found = {}
        for name in self.folder.names(SCHEMAS):
            text = self.folder.read(f"{SCHEMAS}/{name}")
            with written_by("decode", self.folder.at(f"{SCHEMAS}/{name}")):
                found[int(name.removesuffix(".json"))] = json.loads(text or "")
        return found

    def keep_schema(self, number: int, schema: dict[str, Any]) -> None:
        self.folder.write(f"{SCHEMAS}/{number}.json", json.dumps(schema))


def all_decoded(lake: Lake) -> list[DecodedTopic]:
    """The topics that are decoded."""
    return [DecodedTopic(lake, each.topic) for each in all_known(lake)]


def as_decoded(rows: DataFrame, options: DecodeOptions, columns: Columns) -> DataFrame:
    """The decoded rows, with the columns of the table."""
    key = f.col("key").cast("string") if options.key is KeyFormat.TEXT else f.col("key")
    own = {
        "kafka_partition": f.col("partition"), "kafka_offset": f.col("offset"), "kafka_timestamp": f.col("timestamp"),
        "kafka_key": key, "kafka_headers": f.col("headers"), "kafka_tombstone": f.col("tombstone"),
    }  # fmt: skip
    named = [column.alias(name) for name, column in own.items()]
    values = [f.col("decoded").getField(name).alias(name) for name in columns]
    return _arranged(rows.where("error IS NULL").select(*named, *values, f.col("date").alias(DATE)), DATE)


def as_quarantined(rows: DataFrame) -> DataFrame:
    """The rows that could not be decoded: the archived columns, and the reason."""
    return _arranged(rows.where("error IS NOT NULL").drop("tombstone", "decoded"), "topic", "date")


def _arranged(rows: DataFrame, *divided_by: str) -> DataFrame:
    """One file for each day, or several for a large one, in offset order."""
    offsets = [name for name in rows.columns if name in ("partition", "offset", "kafka_partition", "kafka_offset")]
    return rows.hint("rebalance", *divided_by).sortWithinPartitions(*divided_by, *offsets)
