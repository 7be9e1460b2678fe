"""``kafka-console-producer``: lines of standard input become records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from pykbroker.cli.input_lines import BadLine, line_groups
from pykbroker.cli.line_writer import LineWriter
from pykbroker.client.client import Client
from pykbroker.client.producer import Producer
from pykbroker.container.tools.running import Options, ToolError, connect, name_and_value, settings
from pykbroker.wire.records import Compression, Header, Record

_ACKS: Final = {"0": 0, "1": 1, "-1": -1, "all": -1}
#: Properties of Kafka's line reader, with their defaults.
_PROPERTIES: Final = {
    "parse.key": "false", "key.separator": "\t", "parse.headers": "false", "headers.delimiter": "\t",
    "headers.separator": ",", "headers.key.separator": ":", "ignore.error": "false", "null.marker": "",
}  # fmt: skip


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if not options.topic:
        raise ToolError("--topic NAME is missing.")
    reader = LineReader(dict(map(name_and_value, options.property)))
    given = settings(options.command_config) | dict(map(name_and_value, options.producer_property))
    acks = options.request_required_acks or given.get("acks", "all")
    codec = (options.compression_codec or given.get("compression.type", "none")).upper()
    if acks not in _ACKS or codec not in Compression.__members__:
        raise ToolError(f"acks are one of {', '.join(_ACKS)}, and codecs none, gzip, snappy, lz4 and zstd.")
    with connect(options) as client:
        _send(client, options.topic, reader, Producer(client, acks=_ACKS[acks], compression=Compression[codec]))


def _options() -> Options:
    made = Options("kafka-console-producer", "Send each line of standard input as a record.")
    made.connecting("--producer.config", "--command-config")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--property", "--reader-property", metavar="NAME=VALUE", action="append", default=[],
                      help=f"how lines are read: {', '.join(_PROPERTIES)}")  # fmt: skip
    made.add_argument("--producer-property", "--command-property", metavar="NAME=VALUE", action="append", default=[],
                      help="acks and compression.type count")  # fmt: skip
    made.add_argument("--request-required-acks", metavar="ACKS")
    made.add_argument("--compression-codec", metavar="CODEC", nargs="?", const="gzip")
    made.add_argument("--sync", action="store_true", help="has no effect: each lot is answered before the next is sent")
    for name in ("timeout", "batch-size", "message-send-max-retries", "retry-backoff-ms", "request-timeout-ms",
                 "metadata-expiry-ms", "max-block-ms", "max-memory-bytes", "max-partition-memory-bytes", "line-reader",
                 "socket-buffer-size"):  # fmt: skip
        made.add_argument(f"--{name}", metavar="VALUE", help=argparse.SUPPRESS)
    return made


def _send(client: Client, topic: str, reader: LineReader, producer: Producer) -> None:
    partitions = len(client.topic(topic, create=True).partitions)
    writer = LineWriter(
        topic,
        partitions,
        read=lambda line: (reader.record(line, client.clock.now_ms()), None),
        send=producer.send,
        fixed=None,
        leave_out=None,
    )
    for lines in line_groups(sys.stdin.fileno()):
        writer.write(lines)


class LineReader:
    """Parses lines as records, by the properties of Kafka's line reader. Raises ToolError for an unknown property."""

    def __init__(self, given: Mapping[str, str]) -> None:
        if unknown := given.keys() - _PROPERTIES:
            raise ToolError(
                f"--property {', '.join(sorted(unknown))} is not known; there are {', '.join(_PROPERTIES)}."
            )
        said = {**_PROPERTIES, **given}
        self._has_key, self._has_headers = said["parse.key"] == "true", said["parse.headers"] == "true"
        self._lenient = said["ignore.error"] == "true"
        self._between = said["key.separator"].encode()
        self._behind_headers = said["headers.delimiter"].encode()
        self._headers_between, self._in_header = (
            said["headers.separator"].encode(),
            said["headers.key.separator"].encode(),
        )
        self._null = said["null.marker"].encode() or None

    def record(self, line: bytes, now_ms: int) -> Record:
        """Parse a line. Raises BadLine."""
        headers: list[Header] = []
        key: bytes | None = None
        if self._has_headers:
            text, line = self._split(line, self._behind_headers, "headers")
            headers = [self._header(each) for each in (text or b"").split(self._headers_between) if each]
        if self._has_key:
            key, line = self._split(line, self._between, "the key")
        return Record(timestamp=now_ms, key=self._or_null(key), value=self._or_null(line), headers=headers)

    def _split(self, line: bytes, separator: bytes, what: str) -> tuple[bytes | None, bytes]:
        before, found, behind = line.partition(separator)
        if found:
            return before, behind
        if self._lenient:
            return None, line
        raise BadLine(f"no {separator.decode(errors='replace')!r} stands behind {what}")

    def _header(self, text: bytes) -> Header:
        name, found, value = text.partition(self._in_header)
        if not found:
            raise BadLine(f"a header is written NAME{self._in_header.decode(errors='replace')}VALUE")
        return name.decode(errors="replace"), self._or_null(value)

    def _or_null(self, text: bytes | None) -> bytes | None:
        return None if text == self._null else text
