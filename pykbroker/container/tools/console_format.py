"""The format in which ``kafka-console-consumer`` prints a record: the properties of Kafka's default formatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.running import ToolError
from pykbroker.wire.records import Record


class Form:
    """Fields in Kafka's order, separated by key.separator."""

    PROPERTIES: ClassVar[dict[str, str]] = {
        "print.timestamp": "false", "print.partition": "false", "print.offset": "false", "print.epoch": "false",
        "print.headers": "false", "print.key": "false", "print.value": "true", "key.separator": "\t",
        "line.separator": "\n", "headers.separator": ",", "null.literal": "null",
    }  # fmt: skip

    def __init__(self, given: Mapping[str, str]) -> None:
        """Raises ToolError for an unknown property."""
        deserializers = {name for name in given if name.endswith(".deserializer")}
        if unknown := given.keys() - self.PROPERTIES - deserializers:
            raise ToolError(
                f"--property {', '.join(sorted(unknown))} is not known; there are {', '.join(self.PROPERTIES)}."
            )
        said = {**self.PROPERTIES, **given}
        self._shows = {
            name.removeprefix("print.") for name in said if name.startswith("print.") and said[name] == "true"
        }
        self._between, self._end = said["key.separator"].encode(), said["line.separator"].encode()
        self._null, self._between_headers = said["null.literal"].encode(), said["headers.separator"].encode()

    def line(self, partition: TopicPartition, record: Record) -> bytes:
        """Return a record as the console consumer prints it."""
        fields = {
            "timestamp": b"CreateTime:%d" % record.timestamp,
            "partition": b"Partition:%d" % partition.number,
            "offset": b"Offset:%d" % record.offset,
            "headers": self._headers(record),
            "key": self._text(record.key),
            "value": self._text(record.value),
        }
        return self._between.join(text for name, text in fields.items() if name in self._shows) + self._end

    def _headers(self, record: Record) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._between_headers.join(
            name.encode("utf-8", "surrogateescape") + b":" + self._text(value) for name, value in record.headers
        )

    def _text(self, value: bytes | None) -> bytes:
        return self._null if value is None else value
