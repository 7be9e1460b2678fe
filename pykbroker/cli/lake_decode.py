"""``pykbroker lake decode``: decodes archived values into columns."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.lake_options import (
    At,
    SparkConnection,
    Teller,
    checked_lake,
    checked_pattern,
    lake_errors,
    session,
)
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import Json
from pykbroker.cli.output import Output
from pykbroker.cli.signals import all_end_as_ctrl_c, ends_are_noted
from pykbroker.cli.times import parse_duration
from pykbroker.client.errors import ClientError, UsageError
from pykbroker.lake import requirements
from pykbroker.lake.single_job import only_job
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, NewColumns, ValueFormat
from pykbroker.lake.values.types import of_spark, part, revised

_LOOK_S = 0.2
HEADINGS = {"topic": "TOPIC", "decoded": "DECODED", "quarantined": "IN QUARANTINE", "new_columns": "NEW COLUMNS"}


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """The format of values and keys, and the columns that they become."""

    kind: Annotated[
        ValueFormat | None, typer.Option("--as", help="Format of the values; a topic keeps the one it began with.")
    ] = None
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="Avro's .avsc, Protobuf's .proto or .desc, for JSON columns in SQL."
        ),
    ] = None
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="COLUMNS", help="JSON's columns in SQL, as in 'delay BIGINT, at TIMESTAMP'."),
    ] = None
    message: Annotated[str | None, typer.Option("--message", metavar="NAME", help="Protobuf's message.")] = None
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            metavar="URL",
            envvar="PYKBROKER_SCHEMA_REGISTRY",
            help="The schema registry of the schema ids in values.",
        ),
    ] = None
    key: Annotated[KeyFormat, typer.Option("--key", help="What keys become.")] = KeyFormat.BYTES
    new_columns: Annotated[
        NewColumns, typer.Option("--new-columns", help="What to do with fields that have no column yet.")
    ] = NewColumns.ADD
    most_columns: Annotated[int, typer.Option("--most-columns", min=1, metavar="N", help="Most columns to add.")] = 1000

    def decode_options(self) -> DecodeOptions | None:
        """What --as and its companions ask for; None without --as. Raises UsageError and ClientError."""
        if self.kind is None and (self.schema or self.message or self.types):
            raise UsageError("--schema, --types and --message need --as; give it, too.")
        if self.types is not None and (self.kind is not ValueFormat.JSON or self.schema is not None):
            raise UsageError("--types is for --as json, in place of --schema.")
        if self.kind is None:
            return None
        with lake_errors():
            return _decode_options(self.kind, self.schema, self.message, self.key, self.new_columns, self.most_columns)

    def json_columns(self) -> tuple[str, str] | None:
        """The columns of JSON in SQL, and where they are written; None if they are not given."""
        if self.kind is not ValueFormat.JSON:
            return None
        if self.schema is not None:
            return _text(self.schema), str(self.schema)
        return None if self.types is None else (self.types, "--types")


@with_option_values
def decode(
    at: At,
    *,
    as_json: Json = False,
    topics: Annotated[
        str, typer.Option("--topics", metavar="REGEX", help="Archived topics whose whole name matches.")
    ] = ".*",
    values: ValueOptions,
    again: Annotated[
        bool, typer.Option("--again", help="Decode the quarantine again, and all if columns have other types now.")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Make the tables anew from the archive, where files of them are damaged.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Keep decoding what is archived.")] = False,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="With --follow: time between batches.")] = "1m",
    batch: Annotated[
        int, typer.Option("--batch-records", min=1, metavar="N", help="Approximate records per batch.")
    ] = 1_000_000,
    spark_at: SparkConnection,
) -> None:
    """Decode archived values into columns, exactly once; what cannot be decoded goes to a quarantine, with the reason."""
    out = Output(as_json=as_json)
    checked_lake(at)
    checked_pattern(topics)
    wanted = values.decode_options()
    if anew and (again or wanted is not None):
        raise UsageError("--anew decodes as before: it takes neither --again nor --as.")
    interval_s = parse_duration(every) / 1000
    known = _registry(values.registry) if values.registry else None
    with (
        lake_errors(),
        all_end_as_ctrl_c(),
        session(spark_at.master, spark_at.conf, spark_at.jars, lake=at, tasks=True) as spark,
    ):
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.values.schema_survey import Surveyor

        if wanted is not None and (columns := values.json_columns()) is not None:
            wanted = _with_columns(wanted, *columns)
        lake, surveyor = Lake.open(spark, at), Surveyor(known)
        with ends_are_noted() as ended:
            while True:
                job = _Job(at, surveyor, batch, out, ended, again=again)
                chosen = _to_rebuild(lake, topics) if anew else _chosen(lake, topics, wanted, again=again)
                _show(out, [job.outcome(each, anew=anew) for each in chosen if not ended()])
                anew = False
                if not follow or _waited(interval_s, ended):
                    break
            stopped = ended()
        if stopped:
            out.remark("Stopped; what was decoded stays, and the next run goes on from it.")


def _decode_options(
    kind: ValueFormat,
    schema: Path | None,
    message: str | None,
    key: KeyFormat,
    new_columns: NewColumns,
    most_columns: int,
) -> DecodeOptions:
    """Return the options as a value.

    Files are read and packages imported before Spark is started, so that errors come early.
    """
    text = None
    if schema is not None:
        requirements.need_file(schema, "schema")
    if kind is ValueFormat.AVRO:
        requirements.need_package("fastavro", "schemas")
        text = _text(schema) if schema else None
    elif kind is ValueFormat.PROTOBUF:
        requirements.need_package("google.protobuf", "schemas")
        text = base64.b64encode(_descriptors(schema)).decode() if schema else None
        if schema and not message:
            raise UsageError("--message is needed: the message of the schema that the values are.")
    elif kind is ValueFormat.TEXT and schema:
        raise UsageError("Text has no schema.")
    found = DecodeOptions(kind, text, message, None, key, new_columns, most_columns)
    if text is not None:
        from pykbroker.lake.values.deserializers import columns_of

        columns_of(found)
    return found


def _registry(url: str) -> Any:
    from pykbroker.lake.values.registry import SchemaRegistry

    with lake_errors():
        return SchemaRegistry(url)


def _text(schema: Path) -> str:
    try:
        return schema.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ClientError(f"{schema} is not text in UTF-8; name an Avro schema.") from None


def _descriptors(schema: Path) -> bytes:
    from pykbroker.lake.values.protoc import compiled

    return compiled(schema.name, schema.parent) if schema.suffix == ".proto" else schema.read_bytes()


def _with_columns(options: DecodeOptions, text: str, where: str) -> DecodeOptions:
    """Return ``options`` with JSON's columns, which the text has in SQL: ``delay BIGINT, origin STRING``."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        given = StructType.fromDDL(text)
    except PySparkException as error:
        raise ClientError(
            f"{where} has no columns as SQL writes them: {str(error).strip().partition(chr(10))[0]}"
        ) from None
    return replace(options, columns=part(of_spark(json.loads(given.json()), ""), "struct"))


def _chosen(lake: Any, topics: str, wanted: DecodeOptions | None, *, again: bool) -> list[Any]:
    """Return the topics to decode: those that match and whose format is known.

    Raises ClientError if a column has another type than it is given now, unless all is decoded ``again``.
    """
    from pykbroker.lake.values.decoded_tables import DecodedTopic

    archived = sorted({place.topic for place in lake.last_entry().partitions})
    found = [DecodedTopic(lake, topic) for topic in archived if re.fullmatch(topics, topic)]
    if wanted is not None:
        for each in found:
            options = each.options.followed_by(wanted, each.topic) if each.options else wanted
            if not again and (names := revised(each.account().columns, options.columns or {})):
                raise ClientError(
                    f"{each.topic} has columns of other types: {', '.join(names)}. With --again, its tables are made anew from the archive."
                )
            each.keep_options(options)
    chosen = [each for each in found if each.options is not None]
    if not chosen:
        what = (
            f"no archived topic that matches {topics!r}"
            if not found
            else "no topic that was decoded before: say how with --as"
        )
        raise ClientError(f"The lake has {what}.")
    return chosen


def _to_rebuild(lake: Any, topics: str) -> list[Any]:
    """Return the topics to make anew, also those of which a run was killed while it made them anew."""
    from pykbroker.lake.values.decoded_tables import DecodedTopic
    from pykbroker.lake.values.rebuild import OLD

    archived = sorted({place.topic for place in lake.last_entry().partitions})
    found = [DecodedTopic(lake, topic) for topic in archived if re.fullmatch(topics, topic)]
    chosen = [each for each in found if each.options is not None or lake.folder.exists(f"{OLD}/{each.topic}")]
    if not chosen:
        raise ClientError(f"The lake has no topic that matches {topics!r} and was decoded before.")
    return chosen


@dataclass(frozen=True, slots=True)
class _Job:
    """Decodes the topics one after the other, with progress."""

    lake: str
    surveyor: Any
    batch_records: int
    out: Output
    ended: Callable[[], bool]
    again: bool

    def outcome(self, decoded: Any, *, anew: bool = False) -> Any:
        from pykbroker.lake.values.decode import Decode
        from pykbroker.lake.values.decode_state import DECODED

        with only_job(f"{self.lake}/{DECODED}/{decoded.topic}", "decode"), Teller(self.out) as teller:
            if anew or (self.again and revised(decoded.account().columns, decoded.options.columns or {})):
                return self._rebuilt(decoded, teller)
            job = Decode(decoded, self.surveyor, self.batch_records)
            return job.run_again() if self.again else job.run(teller.tell, self.ended)

    def _rebuilt(self, decoded: Any, teller: Teller) -> Any:
        from pykbroker.lake.values.decode import Decode
        from pykbroker.lake.values.decode_state import DECODED
        from pykbroker.lake.values.rebuild import begin_rebuild, end_rebuild

        new = begin_rebuild(decoded.lake, decoded.topic)
        with only_job(
            f"{self.lake}/{DECODED}/{decoded.topic}", "decode"
        ):  # the other lock was moved aside with its folder
            found = Decode(new, self.surveyor, self.batch_records).run(teller.tell, self.ended)
        end_rebuild(decoded.lake, decoded.topic)
        return found


def _waited(interval_s: float, ended: Callable[[], bool]) -> bool:
    """Wait until the next batch; returns True, at once, if the job is to end."""
    due = time.monotonic() + interval_s
    while not ended() and (left := due - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_S))
    return ended()


def _show(out: Output, outcomes: list[Any]) -> None:
    rows = [
        {"topic": each.topic, "decoded": each.decoded, "quarantined": each.quarantined, "new_columns": each.new_columns}
        for each in outcomes
    ]
    if out.as_json:
        out.json({"topics": rows})
    else:
        out.table(HEADINGS, rows)
