"""``pykbroker lake archive``, ``status`` and ``compact``: archives topics, shows progress, merges small files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pykbroker.cli.lake_options import (
    At,
    Conf,
    Jars,
    KafkaOptions,
    Keep,
    Master,
    SparkConnection,
    Teller,
    checked_cluster,
    checked_lake,
    checked_target,
    lake_errors,
    session,
)
from pykbroker.cli.lake_progress import watched
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import (
    ConnectionOptions,
    Json,
)
from pykbroker.cli.output import Output, counted
from pykbroker.cli.signals import all_end_as_ctrl_c, ends_are_noted
from pykbroker.cli.sizes import format_size
from pykbroker.cli.times import parse_duration
from pykbroker.client.errors import UsageError
from pykbroker.client.offsets import READ_COMMITTED, TopicPartition, existing_ends
from pykbroker.lake import requirements
from pykbroker.lake.description import Description, Format
from pykbroker.lake.ledger import as_numbers
from pykbroker.lake.ledger_files import LedgerFiles
from pykbroker.lake.single_job import only_job

if TYPE_CHECKING:
    from pykbroker.lake.ledger import LedgerEntry
    from pykbroker.lake.values.decode_state import Known


@dataclass(frozen=True, slots=True)
class ArchivedBatches:
    """How batches are made, and the table that they go to."""

    table: Annotated[Format | None, typer.Option("--format", help="Table format of a new lake (default parquet).")] = (
        None
    )
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep archiving new records; else stop at the current ends.")
    ] = False
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="With --follow: time between batches.")] = "1m"
    batch: Annotated[int, typer.Option("--batch-records", min=1, metavar="N", help="Most offsets in one batch.")] = (
        5_000_000
    )
    keep: Keep = "1d"
    on_data_loss: Annotated[
        str,
        typer.Option(
            "--on-data-loss",
            metavar="fail|record",
            help="If records expired before they were read: fail, or record the loss and continue.",
        ),
    ] = "fail"


@with_option_values
def archive(
    *,
    topics: Annotated[
        str, typer.Option("--topics", metavar="REGEX", help="Topics whose whole name matches, new ones included.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="The lake: a folder or a Hadoop URI.")],
    source: ConnectionOptions,
    as_json: Json = False,
    batches: ArchivedBatches,
    kafka: KafkaOptions = None,
    spark_at: SparkConnection,
) -> None:
    """Archive every committed record of the topics exactly once; a later run continues where this one ended."""
    out = Output(as_json=as_json)
    if batches.on_data_loss not in ("fail", "record"):
        raise UsageError(f"--on-data-loss is fail or record, not {batches.on_data_loss!r}.")
    interval_s = parse_duration(batches.every) / 1000 if batches.follow else None
    keep_s = parse_duration(batches.keep) / 1000
    found = checked_target(to, batches.table)
    table = batches.table or found or Format.PARQUET
    with lake_errors():
        requirements.need_atomic_renames(to, table)
    options = checked_cluster(source, kafka)
    with (
        lake_errors(),
        only_job(to, "archive"),
        all_end_as_ctrl_c(),
        session(spark_at.master, spark_at.conf, spark_at.jars, table) as spark,
    ):
        from pykbroker.lake.archive import Archive, ArchiveOptions
        from pykbroker.lake.cluster import SourceCluster
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.tables.table import SnapshotRetention

        cluster = SourceCluster(spark, options.bootstrap, options.settings)
        cluster.pattern(topics)  # before there is a lake
        lake = Lake.create(spark, to, Description(table, cluster.cluster_id()), SnapshotRetention(keep_s))
        job = Archive(
            lake,
            cluster,
            ArchiveOptions(topics, interval_s, batches.batch, record_losses=batches.on_data_loss == "record"),
        )
        with Teller(out) as teller, ends_are_noted() as ended:
            job.run(teller.tell, ended, out.remark)
            stopped = ended()
        if stopped:
            out.remark("Stopped; what was committed stays, and the next run goes on from it.")
        if job.progress.finds_no_topic:
            out.remark(f"No topic matches {topics!r}; it is the whole name that must, internal topics left out.")
        _show_archive(out, job.progress)


def _show_archive(out: Output, state: Any) -> None:
    rows = as_numbers(state.entry)
    lost = sum(row["lost"] for row in rows)
    if out.as_json:
        out.json(
            {"rows": state.rows, "batches": state.batches, "total_rows": state.entry.total_rows, "partitions": rows}
        )
    else:
        known = f"the lake has {state.entry.total_rows:,} of {counted(len(rows), 'partition')}"
        out.line(f"{state.rows:,} rows added in {counted(state.batches, 'batch')}; {known}")
    if lost:
        out.remark(f"{lost:,} offsets expired before they were read; `pykbroker lake status` shows where.")


@with_option_values
def status(
    at: At,
    *,
    cluster: ConnectionOptions,
    as_json: Json = False,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Show progress: for each partition the offsets that were read and the rows archived, with a broker (-b) what it has beyond, and the
    room that the lake takes.
    """
    out = Output(as_json=as_json)
    checked_lake(at)
    with lake_errors(), _book(at, master, conf, jars) as book:
        from pykbroker.lake.disk_use import disk_use
        from pykbroker.lake.values.decode_state import all_known

        entry = book.last_entry()
        decoded = [_numbers_of(each, entry) for each in all_known(book)]
        use = disk_use(book.folder)
    rows = as_numbers(entry)
    headings = ["topic", "partition", "begin", "until", "rows", "lost"]
    if cluster.bootstrap is not None or cluster.command_config is not None:
        headings.append("behind")
        with cluster.connect() as client:
            partitions = [TopicPartition(row["topic"], row["partition"]) for row in rows]
            ends = existing_ends(client, partitions, isolation=READ_COMMITTED)
        for row in rows:
            end = ends.get(TopicPartition(row["topic"], row["partition"]))
            row["behind"] = None if end is None else max(end - row["until"], 0)
    if as_json:
        sums = {"batch": entry.batch, "at": entry.at, "rows": entry.total_rows}
        out.json({**sums, "partitions": rows, "decoded": decoded, "disk": use._asdict()})
        return
    out.table({name: name.upper() for name in headings}, rows)
    if decoded:
        out.table(_DECODED_HEADINGS, decoded, title="Decoded")
    metadata = f"{counted(use.metadata_files, 'file')} of metadata, {format_size(use.metadata_bytes)}"
    out.line(f"{counted(use.files, 'data file')}, {format_size(use.bytes)}; {metadata}")


_DECODED_HEADINGS = {
    "topic": "TOPIC",
    "as": "AS",
    "rows": "ROWS",
    "quarantined": "IN QUARANTINE",
    "behind": "BEHIND",
    "columns": "COLUMNS",
}


@contextmanager
def _book(at: str, master: str | None, conf: list[str] | None, jars: str | None) -> Iterator[Any]:
    """Return the lake's ledger; Spark is started only for lakes that are not on this machine."""
    local = requirements.local_path(at)
    if local is not None:
        yield LedgerFiles.on_disk(local)
        return
    with session(master, conf, jars, lake=at) as spark:
        from pykbroker.lake.lake import Lake

        yield Lake.open(spark, at)


def _numbers_of(decoded: Known, archived: LedgerEntry) -> dict[str, Any]:
    account = decoded.account()
    return {
        "topic": decoded.topic, "as": decoded.options and str(decoded.options.kind), "rows": account.rows, "quarantined": account.quarantined,
        "behind": account.behind(archived.of_topic(decoded.topic)), "columns": list(account.columns),
    }  # fmt: skip


def compact(
    at: At,
    *,
    as_json: Json = False,
    size: Annotated[int, typer.Option("--file-mib", min=1, metavar="N", help="Target file size.")] = 128,
    keep: Keep = "1d",
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Merge the small files of each topic and day, decoded ones too. The archive may be running meanwhile."""
    out = Output(as_json=as_json)
    checked_lake(at)
    keep_s = parse_duration(keep) / 1000
    with lake_errors(), only_job(at, "compact"), session(master, conf, jars, lake=at) as spark:
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.tables.table import SnapshotRetention
        from pykbroker.lake.values.decoded_tables import all_decoded

        lake = Lake.open(spark, at, SnapshotRetention(keep_s))
        tables = [lake.table, *(table for each in all_decoded(lake) for table in each.tables)]
        with watched(spark, out):
            found = [table.compact(size << 20) for table in tables]
    before, after = sum(each.before for each in found), sum(each.after for each in found)
    if as_json:
        out.json({"files_before": before, "files_after": after})
    elif before:
        out.line(f"{counted(before, 'small file')} became {after}")
    else:
        out.line("There is nothing to merge: no topic has two small files of one day.")
