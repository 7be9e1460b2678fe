"""``pykbroker lake verify``: compares a lake with the broker."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykbroker.cli.lake_options import (
    At,
    KafkaOptions,
    SparkConnection,
    checked_cluster,
    checked_lake,
    checked_pattern,
    lake_errors,
    session,
)
from pykbroker.cli.lake_progress import watched
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output, counted
from pykbroker.client.errors import ClientError


@with_option_values
def verify(
    at: At,
    *,
    source: ConnectionOptions,
    as_json: Json = False,
    topics: Annotated[
        str | None, typer.Option("--topics", metavar="REGEX", help="Topics to compare; else all archived ones.")
    ] = None,
    ranges: Annotated[int, typer.Option("--range-records", min=1, metavar="N", help="Offsets per checksum.")] = 100_000,
    sample: Annotated[int, typer.Option("--sample", min=1, metavar="N", help="Most differences to show.")] = 100,
    kafka: KafkaOptions = None,
    spark_at: SparkConnection,
) -> None:
    """Compare lake and broker: counts and checksums of each range of offsets and, where they differ, each record."""
    out = Output(as_json=as_json)
    checked_lake(at)
    if topics is not None:
        checked_pattern(topics)
    options = checked_cluster(source, kafka)
    with lake_errors(), session(spark_at.master, spark_at.conf, spark_at.jars, lake=at) as spark:
        from pykbroker.lake.cluster import SourceCluster
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.verify import Verification

        lake, cluster = Lake.open(spark, at), SourceCluster(spark, options.bootstrap, options.settings)
        with watched(spark, out):
            report = Verification(lake, cluster, ranges, sample).run(topics)
    _show_report(out, report, ranges, sample)
    if not report.is_equal:
        raise ClientError("Lake and broker differ.")


def _show_report(out: Output, report: Any, ranges: int, sample: int) -> None:
    partitions = [
        {
            "topic": each.place.topic, "partition": each.place.partition, "from": each.range[0], "until": each.range[1],
            "broker_rows": each.broker_rows, "lake_rows": each.lake_rows, "expired": each.expired,
        }
        for each in report.partitions
    ]  # fmt: skip
    differences = [each._asdict() for each in report.differences]
    if out.as_json:
        shown = {"equal": report.is_equal, "ranges_differ": report.ranges_differ, "shortages": report.shortages}
        out.json({**shown, "partitions": partitions, "differences": differences})
        return
    out.table({name: name.upper().replace("_", " ") for name in partitions[0]} if partitions else {}, partitions)
    for line in report.shortages:
        out.line(line)
    for each in report.differences:
        out.line(f"{each.topic}-{each.partition} offset {each.offset}: {each.kind}")
    if len(report.differences) >= sample:
        differ = counted(report.ranges_differ, "range")
        out.line(f"These are the first {sample} differences (--sample shows more), in {differ} of {ranges:,} offsets.")
    if report.is_equal:
        rows = sum(each.lake_rows for each in report.partitions)
        out.styled(f"equal: {rows:,} rows of {counted(len(partitions), 'partition')}", "green")
