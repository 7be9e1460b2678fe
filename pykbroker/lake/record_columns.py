"""The columns of a record in a lake: those of Spark's Kafka source, and the day of the timestamp in UTC."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
IN_FILES = (*COLUMNS[1:], "topic", "date")
"""The order of SCHEMA."""
SCHEMA = (
    "partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, topic STRING, date DATE"
)
"""The columns of the table. It is partitioned by topic and date, whose values are in the names of folders."""
PARTITIONED_BY = ("topic", "date")
ORDERED_BY = ("partition", "offset")


def with_date(rows: DataFrame) -> DataFrame:
    return rows.select(*COLUMNS, f.to_date("timestamp").alias("date"))
