"""``pykbroker lake replay``: produces archived records to topics again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pykbroker.cli.lake_options import (
    At,
    SparkConnection,
    checked_cluster,
    checked_lake,
    checked_pattern,
    lake_errors,
    session,
)
from pykbroker.cli.lake_progress import showing_progress
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json, name_and_value
from pykbroker.cli.output import Output, counted
from pykbroker.cli.times import parse_when
from pykbroker.client.errors import UsageError
from pykbroker.runtime.clock import SystemClock

_LOOK_EVERY_S = 2.0
"""#: Seconds between looks at the progress, each of which asks the cluster."""


@dataclass(frozen=True, slots=True)
class ReplayedRecords:
    """What is sent, and to which topics."""

    topics: Annotated[str, typer.Option("--topics", metavar="REGEX", help="These alone.")] = ".*"
    since: Annotated[str | None, typer.Option("--since", metavar="WHEN", help="Records from this time on.")] = None
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Records before this time.")] = None
    key: Annotated[list[str] | None, typer.Option("--key", help="Records with this key; several may be given.")] = None
    rename: Annotated[
        list[str] | None, typer.Option("--rename", metavar="OLD=NEW", help="The topic to produce to.")
    ] = None
    prefix: Annotated[
        str, typer.Option("--prefix", show_default=False, help="Prefix of the names of all other topics.")
    ] = ""
    speed: Annotated[
        float | None,
        typer.Option(
            "--speed", min=0.001, metavar="X", help="Multiple of the recorded speed; else as fast as possible."
        ),
    ] = None
    topic_config: Annotated[
        list[str] | None, typer.Option("--topic-config", "-c", metavar="NAME=VALUE", help="For topics that it creates.")
    ] = None


@with_option_values
def replay(
    at: At,
    *,
    source: ConnectionOptions,
    as_json: Json = False,
    name: Annotated[
        str, typer.Option("--name", help="Name of this replay; one of the same name continues where it ended.")
    ] = "pykbroker-replay",
    records: ReplayedRecords,
    on_data_loss: Annotated[
        str,
        typer.Option(
            "--on-data-loss",
            metavar="fail|send",
            help="If the lake does not have all rows that were archived: fail, or send what is there.",
        ),
    ] = "fail",
    kafka: Annotated[
        list[str] | None,
        typer.Option(
            "--kafka",
            metavar="NAME=VALUE",
            help="A setting of librdkafka, which sends; wins over --command-config.",
            rich_help_panel="Connection",
        ),
    ] = None,
    spark_at: SparkConnection,
) -> None:
    """Produce archived records to topics again, exactly once, with the same order, timestamps, keys and headers."""
    out = Output(as_json=as_json)
    checked_lake(at)
    checked_pattern(records.topics)
    if on_data_loss not in ("fail", "send"):
        raise UsageError(f"--on-data-loss is fail or send, not {on_data_loss!r}.")
    options = checked_cluster(source, kafka)
    client = {**_librdkafka(options.file), **options.more}
    now_ms = SystemClock().now_ms()
    given: dict[str, Any] = {
        "since_ms": parse_when(records.since, now_ms) if records.since else None,
        "until_ms": parse_when(records.until, now_ms) if records.until else None,
        "rename": dict(map(name_and_value, records.rename or ())),
        "topic_configs": dict(map(name_and_value, records.topic_config or ())),
        "incomplete": on_data_loss == "send",
    }
    with lake_errors(), session(spark_at.master, spark_at.conf, spark_at.jars, lake=at, replays=True) as spark:
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.replay import Replay, ReplayOptions

        wanted = ReplayOptions(
            name=name,
            topics=records.topics,
            keys=tuple(records.key or ()),
            prefix=records.prefix,
            speed=records.speed,
            **given,
        )
        job = Replay(Lake.open(spark, at), options.bootstrap, client, wanted)
        with showing_progress(job.look, out, _LOOK_EVERY_S):
            sent = job.run()
    _show_sent(out, sent)


def _show_sent(out: Output, sent: Mapping[Any, int]) -> None:
    if out.as_json:
        rows = [
            {"topic": place.topic, "partition": place.partition, "rows": rows} for place, rows in sorted(sent.items())
        ]
        out.json({"rows": sum(sent.values()), "partitions": rows})
    else:
        out.line(f"{sum(sent.values()):,} rows replayed of {counted(len(sent), 'partition')}")


def _librdkafka(settings: dict[str, str]) -> dict[str, str]:
    """Return the security settings of --command-config for librdkafka."""
    from pykbroker.security.client.librdkafka import librdkafka

    try:
        return librdkafka(settings)
    except ValueError as error:
        raise UsageError(
            f"Replaying cannot connect by --command-config: {error}. --kafka takes librdkafka's settings."
        ) from error
