"""Options of all ``pykbroker lake`` commands, and checks that run before Spark is started."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import typer

from pykbroker.cli import command_config as config_file
from pykbroker.cli.options import ConnectionOptions, address, connect_by, name_and_value
from pykbroker.cli.output import Output
from pykbroker.cli.progress import ProgressLine
from pykbroker.client.errors import ClientError, UsageError
from pykbroker.lake import requirements, spark_artifacts
from pykbroker.lake.description import FILE, Format, check_format
from pykbroker.lake.errors import LakeError, is_java_gone, sentence
from pykbroker.lake.ledger_files import LocalFolder, described
from pykbroker.runtime.clock import SystemClock
from pykbroker.runtime.temporary import LAKE, TemporaryFolder

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

_LINE_EVERY_S = 10.0
"""#: Seconds between lines of progress when standard error is not a terminal."""

At = Annotated[str, typer.Argument(metavar="LAKE", help="The lake: a folder or a Hadoop URI.")]
KafkaOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--kafka",
        metavar="NAME=VALUE",
        help="A setting of Spark's Kafka client; wins over --command-config.",
        rich_help_panel="Connection",
    ),
]
Keep = Annotated[
    str,
    typer.Option("--keep", metavar="TIME", help="How long Delta Lake and Iceberg keep earlier snapshots."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark master; local[*] unless spark-submit sets it.", rich_help_panel="Spark"
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark.", rich_help_panel="Spark"),
]
Jars = Annotated[
    str | None,
    typer.Option(
        "--jars", metavar="FILE,...", envvar="PYKBROKER_SPARK_JARS", help="The connectors' jars; downloaded if not given.",
        rich_help_panel="Spark",
    ),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkConnection:
    """The Spark that a command runs on."""

    master: Master = None
    conf: Conf = None
    jars: Jars = None


@contextmanager
def lake_errors() -> Iterator[None]:
    """Turn errors of a lake's job into ClientError, also those raised in a task of Spark."""
    try:
        yield
    except LakeError as error:
        raise ClientError(str(error)) from error
    except Exception as error:
        if is_java_gone(error):
            raise ClientError(
                "Java, in which Spark runs, has ended: it was killed, or the machine has no memory left. What was committed stays; run this again."
            ) from error
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        said = "\n".join([str(error), *getattr(error, "__notes__", ())])
        raise ClientError(f"Spark failed: {sentence(said)}") from error


class ClusterOptions(NamedTuple):
    """Where the cluster is, with the settings of --command-config and of --kafka, which win."""

    bootstrap: str
    file: dict[str, str]
    more: dict[str, str]

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings for Spark's Kafka client."""
        return {**self.file, **self.more}


def checked_cluster(source: ConnectionOptions, kafka: list[str] | None) -> ClusterOptions:
    """Check that a broker can be reached.

    Raises Unreachable, and ClientError if it refuses the credentials of --command-config.

    Security settings of --kafka are checked by Spark's client later.
    """
    file, more = config_file.read(source.command_config), dict(map(name_and_value, kafka or ()))
    config_file.warn_of_unknown(file)
    where = address(source.bootstrap, file)
    if more.get("security.protocol", "PLAINTEXT") == "PLAINTEXT":
        with connect_by(file, where, source.timeout) as client:
            client.any()
    file.pop("bootstrap.servers", None)
    return ClusterOptions(where, file, more)


def checked_lake(at: str) -> None:
    """Raises ClientError if there is no lake at a path of this machine."""
    with lake_errors():
        requirements.need_lake(at)


def checked_target(to: str, wanted: Format | None) -> Format | None:
    """Return the table format of an existing lake; None for a new one, or for one that only Spark can read.

    Raises ClientError if something else lies there, or a lake of another format than ``wanted``.
    """
    with lake_errors():
        requirements.need_lake_or_room(to)
        found = format_of(to)
        if found is not None and wanted is not None:
            check_format(found, wanted, to)
    return found


def checked_pattern(topics: str) -> str:
    """Raises UsageError for an invalid regular expression. Archived topics are matched by Python's ``re``."""
    try:
        re.compile(topics)
    except re.error as error:
        raise UsageError(f"--topics {topics!r} is not a regular expression: {error}.") from None
    return topics


@contextmanager
def session(
    master: str | None,
    conf: list[str] | None,
    jars: str | None,
    table: Format | None = None,
    *,
    lake: str | None = None,
    replays: bool = False,
    tasks: bool = False,
) -> Iterator[Any]:
    """Yield a Spark session for tables of this format, or of the lake's; checks that its packages are there first."""
    options = dict(map(name_and_value, conf or ()))
    files = tuple(filter(None, (jars or "").split(",")))
    requirements.need_spark(files)
    if replays:
        requirements.need_package("confluent_kafka", "spark")
    if replays or tasks:
        requirements.need_package("pyarrow", "spark")
        requirements.need_package("pandas", "spark")
    requirements.need_java()
    requirements.need_jars(files)
    spark_artifacts.need_room()

    from pykbroker.lake.spark_log import LOG, files_noted
    from pykbroker.lake.spark_session import SparkOptions, start_session

    logging.getLogger().addHandler(logging.NullHandler())  # on Ctrl-C py4j would log a stack trace
    folder = TemporaryFolder(LAKE)
    try:
        tables = (table,) if table else _formats_of(lake)
        spark = start_session(SparkOptions(master, options, files), tables, folder.path)
        try:
            with files_noted(folder.path / LOG), spark_artifacts.removed(spark):
                yield spark
        finally:
            with suppress(Exception):  # without Java, there is nothing to stop
                spark.stop()
    finally:
        folder.remove()


def _formats_of(lake: str | None) -> tuple[Format, ...]:
    """Return the formats that Spark is set up for: the lake's, or all if the lake is not on this machine."""
    if lake is not None and requirements.local_path(lake) is None:
        return tuple(Format)
    found = format_of(lake) if lake else None
    return (found,) if found else ()


def format_of(lake: str) -> Format | None:
    """Return the table format of a lake on this machine; None if there is none, or if only Spark can read it."""
    local = requirements.local_path(lake)
    if local is None:
        return None
    with lake_errors():
        folder = LocalFolder(local)
        return None if folder.read(FILE) is None else described(folder, lake).format


class Teller:
    """Shows the progress of a job: in one line of a terminal, else in a line of its own now and then."""

    def __init__(self, out: Output, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._progress = ProgressLine(self._clock)
        self._out = out
        self._due = self._clock.monotonic() + _LINE_EVERY_S
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.done()  # clear the line

    def tell(self, state: Any) -> None:
        """Show the newest progress: rewritten in place on a terminal, else printed from time to time if it has changed."""
        line = state.line()
        if self._progress.shows:
            self._progress.tell(line)
        elif self._clock.monotonic() >= self._due and line != self._last:
            self._out.remark(line)
            self._last = line
            self._due = self._clock.monotonic() + _LINE_EVERY_S
