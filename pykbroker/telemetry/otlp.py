"""The metrics of a push: OpenTelemetry's ``MetricsData`` in protobuf, decoded as far as clients of Kafka use it.

Gauges and sums become points; of a histogram its sum and its count do. What else a message has is stepped over. The decoder is our own, since
a library builds every object of a message before one is looked at, many times its bytes: here ``most`` points are made, however
many there are, and their names and labels have a longest length.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple


class Kind(Enum):
    """What the value of a point says."""

    GAUGE = "gauge"
    #: The sum since the client's start, or since it was asked.
    TOTAL = "total"
    #: The sum since the client's last push.
    DELTA = "delta"


class Point(NamedTuple):
    """One value of a metric. ``labels`` are sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...]
    kind: Kind
    value: float


class MalformedMetrics(ValueError):
    """The bytes are no MetricsData."""


#: The most characters of a name, and of all labels together, and the most labels; points beyond are dropped.
_LONGEST_NAME: Final = 200
_LONGEST_LABELS: Final = 1000
_MOST_LABELS: Final = 16

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DELTA: Final = 1

#: The most fields of a message that are walked, and after how many other threads run: each takes about a microsecond.
_MOST_FIELDS: Final = 500_000
_FIELDS_IN_A_BREATH: Final = 1000

_Fields = Iterator[tuple[int, int, int | memoryview]]


def decode(data: bytes, most: int, breathe: Callable[[], None]) -> tuple[list[Point], int]:
    """The points of a message, ``most`` at most, and how many more there were; a thread's work, which breathes. Raises MalformedMetrics."""
    decoder = _Decoder(most, breathe)
    for field, wire_type, value in decoder.fields(memoryview(data)):
        if field == 1 and wire_type == _BYTES:
            decoder.resource_metrics(_view(value))
    return decoder.points, decoder.dropped


class _Decoder:
    """Collects the points of one message."""

    def __init__(self, most: int, breathe: Callable[[], None]) -> None:
        self.points: list[Point] = []
        self.dropped = 0
        self._most = most
        self._breathe = breathe
        self._walked = 0
        self._resource: dict[str, str] = {}

    def resource_metrics(self, data: memoryview) -> None:
        """A client's metrics by scope, and the labels of all of them."""
        self._resource = {}
        for resource in self._messages(data, 1):  # the labels may follow the metrics
            for attribute in self._messages(resource, 1):
                self._add_label(self._resource, attribute)
        for scope in self._messages(data, 2):
            for metric in self._messages(scope, 2):
                self._metric(metric)

    def _metric(self, data: memoryview) -> None:
        name, found = "", None
        for field, wire_type, value in self.fields(data):
            if wire_type != _BYTES:
                continue
            if field == 1:
                name = _text(_view(value))
            elif field in _SHAPES:
                found = _SHAPES[field], _view(value)
        if found is not None:
            read, body = found
            read(self, name, body)

    def _gauge(self, name: str, body: memoryview) -> None:
        for point in self._messages(body, 1):
            self._number(name, Kind.GAUGE, point)

    def _sum(self, name: str, body: memoryview) -> None:
        is_delta, only_grows = self._summing(body)
        kind = Kind.DELTA if is_delta else Kind.TOTAL if only_grows else Kind.GAUGE
        for point in self._messages(body, 1):
            self._number(name, kind, point)

    def _histogram(self, name: str, body: memoryview) -> None:
        is_delta, _ = self._summing(body)
        kind = Kind.DELTA if is_delta else Kind.TOTAL
        for point in self._messages(body, 1):
            labels: dict[str, str] = {}
            count = total = None
            for field, wire_type, value in self.fields(point):
                if field == 9 and wire_type == _BYTES:
                    self._add_label(labels, _view(value))
                elif field == 4 and wire_type == _FIXED64:
                    count = float(int.from_bytes(_view(value), "little"))
                elif field == 5 and wire_type == _FIXED64:
                    total = _double(_view(value))
            for part, found in (("count", count), ("sum", total)):
                if found is not None:
                    self._add(f"{name}.{part}", labels, kind, found)

    def _summing(self, body: memoryview) -> tuple[bool, bool]:
        """Whether a sum or a histogram is one since the last push, and whether it only grows."""
        is_delta = only_grows = False
        for field, wire_type, value in self.fields(body):
            if field == 2 and wire_type == _VARINT:
                is_delta = value == _DELTA
            elif field == 3 and wire_type == _VARINT:
                only_grows = bool(value)
        return is_delta, only_grows

    def _number(self, name: str, kind: Kind, data: memoryview) -> None:
        """A NumberDataPoint."""
        if len(self.points) >= self._most:
            self.dropped += 1
            return
        labels: dict[str, str] = {}
        found = None
        for field, wire_type, value in self.fields(data):
            if field == 7 and wire_type == _BYTES:
                self._add_label(labels, _view(value))
            elif field == 4 and wire_type == _FIXED64:
                found = _double(_view(value))
            elif field == 6 and wire_type == _FIXED64:
                found = float(int.from_bytes(_view(value), "little", signed=True))
        if found is not None:
            self._add(name, labels, kind, found)

    def _add(self, name: str, labels: dict[str, str], kind: Kind, value: float) -> None:
        labels = {**self._resource, **labels}
        size = sum(len(key) + len(text) for key, text in labels.items())
        fits = len(name) <= _LONGEST_NAME and size <= _LONGEST_LABELS and len(labels) <= _MOST_LABELS
        if len(self.points) >= self._most or not fits:
            self.dropped += 1
        else:
            self.points.append(Point(name, tuple(sorted(labels.items())), kind, value))

    def _add_label(self, labels: dict[str, str], data: memoryview) -> None:
        """A KeyValue: a text, a truth or a number; others are no labels."""
        key, found = "", None
        for field, wire_type, value in self.fields(data):
            if wire_type == _BYTES and field == 1:
                key = _text(_view(value))
            elif wire_type == _BYTES and field == 2:
                for number, kind, inner in self.fields(_view(value)):
                    found = _label_value(number, kind, inner)
        if found is not None and len(labels) <= _MOST_LABELS:
            labels[key] = found

    def _messages(self, data: memoryview, number: int) -> Iterator[memoryview]:
        """The messages in one field of a message."""
        for field, wire_type, value in self.fields(data):
            if field == number and wire_type == _BYTES:
                yield _view(value)

    def fields(self, data: memoryview) -> _Fields:
        """The fields of a message: number, wire type, and a number or the bytes. Raises MalformedMetrics."""
        at, end = 0, len(data)
        while at < end:
            self._step()
            tag, at = _varint(data, at)
            field, wire_type = tag >> 3, tag & 7
            if wire_type == _VARINT:
                number, at = _varint(data, at)
                yield field, wire_type, number
                continue
            if wire_type == _BYTES:
                size, at = _varint(data, at)
            elif wire_type in (_FIXED64, _FIXED32):
                size = 8 if wire_type == _FIXED64 else 4
            else:
                raise MalformedMetrics(f"wire type {wire_type}")
            if field == 0 or size > end - at:
                raise MalformedMetrics("a field is cut short")
            yield field, wire_type, data[at : at + size]
            at += size

    def _step(self) -> None:
        self._walked += 1
        if self._walked > _MOST_FIELDS:
            raise MalformedMetrics(f"more than {_MOST_FIELDS} fields")
        if not self._walked % _FIELDS_IN_A_BREATH:
            self._breathe()


#: What a Metric holds, by its field; others, as exponential histograms and summaries, are stepped over.
_SHAPES: Final[dict[int, Callable[[_Decoder, str, memoryview], None]]] = {
    5: _Decoder._gauge,  # noqa: SLF001 - of this module
    7: _Decoder._sum,  # noqa: SLF001
    9: _Decoder._histogram,  # noqa: SLF001
}


def _label_value(field: int, wire_type: int, value: int | memoryview) -> str | None:
    if field == 1 and wire_type == _BYTES:
        return _text(_view(value))
    if field == 2 and wire_type == _VARINT:
        return str(bool(value)).lower()
    if field == 3 and wire_type == _VARINT:
        number = _int(value)
        return str(number - 2**64 if number >= 2**63 else number)
    if field == 4 and wire_type == _FIXED64:
        return repr(_double(_view(value)))
    return None


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    found = shift = 0
    while shift < 70:
        if at >= len(data):
            raise MalformedMetrics("a number is cut short")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise MalformedMetrics("a number is too long")


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise MalformedMetrics("a text is not UTF-8") from error


def _double(data: memoryview) -> float:
    found: float = struct.unpack("<d", data)[0]
    return found


def _view(value: int | memoryview) -> memoryview:
    assert isinstance(value, memoryview), "the wire type says so"
    return value


def _int(value: int | memoryview) -> int:
    assert isinstance(value, int), "the wire type says so"
    return value
