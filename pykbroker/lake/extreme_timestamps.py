"""Records whose timestamps Spark cannot hold, kept to the bit beside the table.

A timestamp in Kafka is any 64-bit number of milliseconds, and one in Spark is a 64-bit number of microseconds. Spark's Kafka source ends
with "long overflow" where it meets a greater one, and names no record. So the range of offsets is halved until each such record is found;
Kafka's own consumer reads them, and Spark reads the ranges between them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.errors import LakeError, written_by
from pykbroker.lake.lake import Lake
from pykbroker.lake.ledger import LakePartition, Range, nested
from pykbroker.lake.ledger_files import numbered

ODD = "odd"
SIGN = "long overflow"
_MOST = 100
"""The largest number of such records in a batch: each takes the halving of a range, and one more reader of what is between them."""
_SCANNED = 1000
_LIMIT_MS = (1 << 63) // 1000
"""Milliseconds before this one, and after its negative, fit into 64-bit microseconds."""

Odd = Mapping[LakePartition, list[int]]


class ExtremeTimestamps:
    """The records of a lake that are kept beside its table: ``odd/000000000007.json`` has those of batch 7, one on each line."""

    def __init__(self, lake: Lake, cluster: SourceCluster) -> None:
        self._lake = lake
        self._cluster = cluster

    def known(self) -> dict[LakePartition, list[int]]:
        """The offsets of all records that are kept."""
        found: dict[LakePartition, list[int]] = {}
        for name in numbered(self._lake.folder.names(ODD)):
            text = self._lake.folder.read(f"{ODD}/{name}") or ""
            with written_by("archive", self._lake.folder.at(f"{ODD}/{name}")):
                for each in map(json.loads, text.splitlines()):
                    found.setdefault(LakePartition(each["topic"], each["partition"]), []).append(each["offset"])
        return found

    def keep(self, batch: int, ranges: Mapping[LakePartition, Range]) -> list[Kept]:
        """Find such records in these ranges, and write them down. Raises LakeError if they are too many."""
        found: list[Kept] = []
        for place, limits in sorted(ranges.items()):
            for each in self._search(place, *limits):
                found.append(each)
                if len(found) > _MOST:
                    raise LakeError(
                        f"{each.place} has more than {_MOST} records in a batch whose timestamps Spark cannot hold, as {found[0]}. Archive in "
                        "smaller batches with --batch-records, or read this topic with another tool."
                    )
        self._lake.folder.write(f"{ODD}/{batch:012d}.json", "".join(f"{each.line}\n" for each in found))
        return found

    def around(self, ranges: Mapping[LakePartition, Range], extreme: Odd, options: Mapping[str, str]) -> DataFrame:
        """The broker's records in these ranges, as Spark's Kafka source has them, without the odd ones."""
        pieces = {place: list(_between(limits, extreme.get(place, []))) for place, limits in ranges.items()}
        layers = [
            {place: each[number] for place, each in pieces.items() if number < len(each)}
            for number in range(max(map(len, pieces.values()), default=0))
        ]
        return reduce(DataFrame.union, (self._read(layer, options) for layer in layers or [{}]))

    def _read(self, ranges: Mapping[LakePartition, Range], options: Mapping[str, str]) -> DataFrame:
        assigned: dict[str, list[int]] = {}
        for place in ranges:
            assigned.setdefault(place.topic, []).append(place.partition)
        chosen = {
            "assign": json.dumps(assigned),
            "startingOffsets": json.dumps(nested({place: start for place, (start, _) in ranges.items()})),
            "endingOffsets": json.dumps(nested({place: end for place, (_, end) in ranges.items()})),
        }
        reader = self._lake.spark.read.format("kafka")
        return reader.options(**self._cluster.spark_options(), **options, **chosen).load()

    def _search(self, place: LakePartition, start: int, end: int) -> Iterator[Kept]:
        if start >= end or self._is_readable(place, start, end):
            return
        if end - start <= _SCANNED:
            for record in self._cluster.records(place, start, end):
                if not -_LIMIT_MS <= record.timestamp() <= _LIMIT_MS:
                    yield _kept(place, record)
            return
        middle = (start + end) // 2
        yield from self._search(place, start, middle)
        yield from self._search(place, middle, end)

    def _is_readable(self, place: LakePartition, start: int, end: int) -> bool:
        try:
            self._read({place: (start, end)}, {"failOnDataLoss": "false"}).agg({"timestamp": "max"}).collect()
        except (PySparkException, Py4JJavaError) as error:
            if SIGN in str(error):
                return False
            raise
        return True


class Kept(NamedTuple):
    """A record that is kept: where it is, its timestamp in milliseconds, and its line of JSON."""

    place: LakePartition
    offset: int
    timestamp: int
    line: str

    def __str__(self) -> str:
        return f"{self.place} offset {self.offset} with {self.timestamp} ms"


def _kept(place: LakePartition, record: Any) -> Kept:
    headers = [{"key": str(each.key()), "value": _text(each.value())} for each in record.headers().toArray()]
    fields = {
        "topic": place.topic, "partition": place.partition, "offset": record.offset(), "timestamp": record.timestamp(),
        "timestampType": int(str(record.timestampType().toString()) == "LogAppendTime"),
        "key": _text(record.key()), "value": _text(record.value()), "headers": headers or None,
    }  # fmt: skip
    return Kept(place, int(record.offset()), int(record.timestamp()), json.dumps(fields))


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _between(limits: Range, extreme: list[int]) -> Iterator[Range]:
    start, end = limits
    for offset in sorted(each for each in extreme if start <= each < end):
        if start < offset:
            yield start, offset
        start = offset + 1
    if start < end:
        yield start, end
