"""``pykbroker produce``: lines of standard input become records."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pykbroker.cli.binary_text import Encoding, decode
from pykbroker.cli.completion import topic_names
from pykbroker.cli.input_lines import BadLine, line_groups
from pykbroker.cli.json_records import record_from_json
from pykbroker.cli.line_writer import LineWriter
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, name_and_value
from pykbroker.cli.output import Output, counted, harmless
from pykbroker.cli.schema_values import Encode, ValueEncodingOptions
from pykbroker.cli.signals import Ended, all_end_as_ctrl_c
from pykbroker.cli.times import parse_when
from pykbroker.cli.whole_files import file_contents
from pykbroker.client.errors import EXIT_INTERRUPTED, ClientError, UsageError, refusal
from pykbroker.client.producer import ALL, Producer
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.records import Compression, Header, Record


class Codec(StrEnum):
    """Compression of batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    """The acknowledgements to wait for."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


ACKS = {Acks.NONE: 0, Acks.LEADER: 1, Acks.ALL: ALL}


@dataclass(frozen=True)
class LineOptions:
    """What lines are, and the records that they become."""

    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="The key of every record.")] = None
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-K", metavar="TEXT", help="Separator of key and value on a line."),
    ] = None
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header of every record.")
    ] = None
    timestamp: Annotated[
        str | None, typer.Option("--timestamp", metavar="TIME", help="Timestamp of every record; else now.")
    ] = None
    empty_is_null: Annotated[
        bool, typer.Option("--empty-is-null", help="An empty value is null: a tombstone in a compacted topic.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Lines are JSON objects, as consume --json prints.")] = False
    encoding: Annotated[
        Encoding, typer.Option("--input", help="Encoding of keys and values; - is null in hex and base64.")
    ] = Encoding.TEXT
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", metavar="FILE", help="Produce this whole file as one record, in place of lines; may be repeated."
        ),
    ] = None

    def check(self) -> None:
        """Raises UsageError for options that exclude each other."""
        keyed = self.key is not None or self.key_separator is not None
        encoded = self.encoding is not Encoding.TEXT
        if self.as_json and (keyed or self.header or self.empty_is_null):
            raise UsageError("With --json, keys and headers are in the lines: the options for them cannot be given.")
        if self.as_json and (self.file or encoded):
            raise UsageError("With --json, each line is a record: --file and --input cannot be given.")
        if self.file and (self.key_separator is not None or encoded):
            raise UsageError("With --file, each file is a value: --key-separator and --input cannot be given.")
        if self.key is not None and self.key_separator is not None:
            raise UsageError("Give --key or --key-separator, not both.")
        if self.key_separator == "":
            raise UsageError("--key-separator needs at least one character.")

    def reader(self, now_ms: int) -> LineParser:
        """Return what makes records of lines. Raises UsageError."""
        return LineParser(
            key=None if self.key is None else os.fsencode(self.key),
            separator=None if self.key_separator is None else os.fsencode(self.key_separator),
            headers=[(name, os.fsencode(value)) for name, value in map(name_and_value, self.header or [])],
            timestamp=None if self.timestamp is None else parse_when(self.timestamp, now_ms),
            empty_is_null=self.empty_is_null,
            as_json=self.as_json,
            encoding=self.encoding,
        )


@dataclass(frozen=True)
class SendOptions:
    """How records are sent."""

    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", metavar="N", min=0, help="Partition; else by key, as in Java's clients."),
    ] = None
    compression: Annotated[Codec, typer.Option("--compression", "-z", help="Compression of batches.")] = Codec.NONE
    acks: Annotated[Acks, typer.Option("--acks", help="Acknowledgements to wait for.")] = Acks.ALL
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that are no records or are refused.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not report how many were written.")] = False


@with_option_values
def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=topic_names)],
    *,
    at: ConnectionOptions,
    lines: LineOptions,
    by: ValueEncodingOptions,
    sending: SendOptions,
) -> None:
    """Write each line of standard input as a record. Lines are sent as they arrive: type them, or pipe a file in.

    The first bad line ends it; the lines before it are written.
    """
    lines.check()
    encode = by.encoder()
    source = file_contents(lines.file) if lines.file else line_groups(_standard_input())
    out = Output(as_json=False)
    with at.connect() as client:
        reader = lines.reader(client.clock.now_ms())
        try:
            partitions = len(client.topic(topic, create=True).partitions)
            if sending.partition is not None and sending.partition >= partitions:
                raise UsageError(f"Topic {topic} has partitions 0 to {partitions - 1}.")
            compression = Compression[sending.compression.name]
            producer = Producer(client, acks=ACKS[sending.acks], compression=compression)
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {topic}", error)) from error
        writer = LineWriter(
            topic,
            partitions,
            read=lambda line: _encoded(reader.record(line, client.clock.now_ms()), encode),
            send=producer.send,
            fixed=sending.partition,
            leave_out=out.remark if sending.skip_bad else None,
        )
        _write_all(writer, topic, source)
    if not sending.quiet:
        confirmed = "sent, unconfirmed," if sending.acks is Acks.NONE else "written"
        left_out = f", {counted(writer.left_out, 'line')} left out" if sending.skip_bad else ""
        out.remark(f"{counted(writer.written, 'record')} {confirmed} to {topic}{left_out}.")


def _encoded(found: tuple[Record, int | None], encode: Encode | None) -> tuple[Record, int | None]:
    """A record with its value as its schema has it. Raises BadLine."""
    record, partition = found
    if encode is None or record.value is None:
        return found
    return replace(record, value=encode(record.value)), partition


def _write_all(writer: LineWriter, topic: str, source: Iterable[list[bytes]]) -> None:
    """Write ``source`` to its end; if it ends early, report what was written."""
    try:
        with all_end_as_ctrl_c():
            for lines in source:
                writer.write(lines)
    except BadLine:
        raise  # the caller prints it
    except KafkaError as error:
        raise ClientError(f"{refusal(f'Topic {topic}', error)} {writer.tally}") from error
    except ClientError as error:
        error.message += f" {writer.tally}"
        raise
    except OSError as error:
        raise ClientError(f"Standard input cannot be read: {error.strerror}. {writer.tally}") from error
    except KeyboardInterrupt as end:
        status = end.status if isinstance(end, Ended) else EXIT_INTERRUPTED
        raise ClientError(f"Interrupted. {writer.tally}", status) from None


def _standard_input() -> int:
    """Return its descriptor. Raises UsageError if it is closed."""
    if sys.stdin is None:  # closed by the shell's `<&-`
        raise UsageError("Standard input is closed; there is nothing to read.")
    return sys.stdin.fileno()


class LineParser:
    """Parses lines as records, as the options say."""

    def __init__(
        self,
        *,
        key: bytes | None,
        separator: bytes | None,
        headers: list[Header],
        timestamp: int | None,
        empty_is_null: bool,
        as_json: bool,
        encoding: Encoding = Encoding.TEXT,
    ) -> None:
        self._key = key
        self._separator = separator
        self._headers = headers
        self._timestamp = timestamp
        self._empty_is_null = empty_is_null
        self._as_json = as_json
        self._encoding = encoding

    def record(self, line: bytes, now_ms: int) -> tuple[Record, int | None]:
        """Return the record on this line, with its partition or None. Raises BadLine."""
        timestamp = now_ms if self._timestamp is None else self._timestamp
        if self._as_json:
            return record_from_json(line, now_ms=timestamp)
        key, value = self._key, line
        if self._separator is not None:
            key, separator, value = line.partition(self._separator)
            if not separator:
                raise BadLine(f"there is no {harmless(self._separator)!r} between key and value: {harmless(line)}")
        if self._encoding is not Encoding.TEXT:
            return self._decoded(timestamp, key, value), None
        null = self._empty_is_null and not value
        return Record(timestamp=timestamp, key=key, value=None if null else value, headers=self._headers), None

    def _decoded(self, timestamp: int, key: bytes | None, value: bytes) -> Record:
        """Return a record whose value, and key if there is one, is in hexadecimal or base64."""
        try:
            if self._separator is not None and key is not None:
                key = decode(key, self._encoding)
            data = decode(value, self._encoding)
        except ValueError as error:
            raise BadLine(f"it is {error}: {harmless(value)}") from error
        null = self._empty_is_null and not data
        return Record(timestamp=timestamp, key=key, value=None if null else data, headers=self._headers)
