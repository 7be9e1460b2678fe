"""Looks whether the tables of decoded values are whole: all their pages are read, and their rows counted."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame

from pykbroker.lake.errors import rebuild_hint
from pykbroker.lake.lake import Lake
from pykbroker.lake.values.decoded_tables import DecodedTopic, all_decoded


def decoded_shortages(lake: Lake, topics: Collection[str]) -> list[str]:
    """A sentence for each partition of which a table has more or fewer rows than were decoded or quarantined, between two batches.

    Spark raises an error that names the file if a page is damaged.
    """
    return [told for each in all_decoded(lake) if each.topic in topics for told in _shortages(each)]


def _shortages(decoded: DecodedTopic) -> list[str]:
    account = decoded.account()
    values, quarantine = (table.read() for table in decoded.tables)
    for table in (values, quarantine):
        table.write.format("noop").mode("overwrite").save()  # reads all columns of all rows
    found = _counted(values, "kafka_partition"), _counted(quarantine, "partition")
    if decoded.account() != account or decoded.plan(account.batch + 1) is not None:
        return []  # a batch has begun, by a run that goes on or that was killed: its rows are accounted for at its end
    told = []
    for number, done in sorted(account.partitions.items()):
        for what, wanted, there in (
            ("decoded", done.rows, found[0].get(number, 0)),
            ("put into the quarantine", done.quarantined, found[1].get(number, 0)),
        ):
            if wanted != there:
                told.append(
                    f"{decoded.topic}-{number}: {wanted} rows were {what}, and the table in {decoded.folder.uri} has {there}: "
                    f"{rebuild_hint(decoded.topic)}"
                )
    return told


def _counted(rows: DataFrame, partition: str) -> dict[int, int]:
    return {row[0]: row[1] for row in rows.groupBy(partition).count().collect()}
