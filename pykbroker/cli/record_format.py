"""How ``consume`` prints a record: columns, a format of the user's, or JSON.

On a terminal keys, values and headers are escaped (values keep their tabs and line ends). Elsewhere they are the exact bytes, as of
``kafka-console-consumer``: a program reads them, and tells records apart by ``--json`` or a format of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pykbroker.cli.binary_text import Encoding, encode
from pykbroker.cli.json_records import record_as_json
from pykbroker.cli.times import format_ms
from pykbroker.client.errors import UsageError
from pykbroker.client.offsets import TopicPartition
from pykbroker.runtime.escaping import escaped, escaped_json, escaped_layout
from pykbroker.wire.records import Record

NULL = b"null"
_DIM, _CYAN, _RESET = b"\x1b[2m", b"\x1b[36m", b"\x1b[0m"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "e": "\x1b"}
_TOKENS = re.compile(r"%(.)|\\(.)|([^%\\]+)|(.)", re.DOTALL)

Formatter = Callable[[TopicPartition, Record], bytes]
"""Makes the bytes to print for a record."""

_FIELDS: dict[str, Formatter] = {
    "t": lambda partition, _: escaped(partition.topic).encode(),
    "p": lambda partition, _: b"%d" % partition.number,
    "o": lambda _, record: b"%d" % record.offset,
    "T": lambda _, record: b"%d" % record.timestamp,
    "D": lambda _, record: format_ms(record.timestamp).encode(),
    "k": lambda _, record: _or_null(record.key),
    "K": lambda _, record: b"%d" % (-1 if record.key is None else len(record.key)),
    "v": lambda _, record: _or_null(record.value),
    "V": lambda _, record: b"%d" % (-1 if record.value is None else len(record.value)),
    "h": lambda _, record: _headers(record),
}
FIELDS_HELP = "%t topic, %p partition, %o offset, %T timestamp, %D date, %k key, %v value, %h headers, %K %V sizes"


def json_formatter(partition: TopicPartition, record: Record) -> bytes:
    """Return the record as a JSON line, which ``produce --json`` reads."""
    return escaped_json(record_as_json(*partition, record)).encode() + b"\n"


def custom_formatter(template: str, *, terminal: bool, encoding: Encoding = Encoding.TEXT) -> Formatter:
    r"""Return a formatter for a template such as ``%k: %v\n``. Raises UsageError for an unknown field.

    The template's own text is printed as it is: it may colour a terminal.
    """
    known = _fields(encoding, terminal=terminal)
    parts: list[Formatter] = []
    for field, escape, text, stray in _TOKENS.findall(template):
        if field == "%":
            parts.append(_constant(b"%"))
        elif field:
            if field not in known:
                raise UsageError(f"%{field} is not a field of a format; the fields are {FIELDS_HELP}.")
            parts.append(known[field])
        else:
            parts.append(_constant((_ESCAPES.get(escape, "\\" + escape) if escape else text or stray).encode()))
    return lambda partition, record: b"".join(part(partition, record) for part in parts)


def column_formatter(columns: str, *, terminal: bool, encoding: Encoding = Encoding.TEXT) -> Formatter:
    """Return a formatter that prints fields (letters as in formats) with tabs between them, the value last.

    On a terminal, fields other than key and value are dim.
    """
    known = _fields(encoding, terminal=terminal)
    fields = [(letter, known[letter]) for letter in columns]

    def plain(partition: TopicPartition, record: Record) -> bytes:
        return b"\t".join(field(partition, record) for _, field in fields) + b"\n"

    def coloured(partition: TopicPartition, record: Record) -> bytes:
        pieces = []
        for letter, field in fields:
            text = field(partition, record)
            style = b"" if letter == "v" else _CYAN if letter == "k" else _DIM
            pieces.append(style + text + _RESET if style else text)
        return b"\t".join(pieces) + b"\n"

    return coloured if terminal else plain


def _fields(encoding: Encoding, *, terminal: bool) -> dict[str, Formatter]:
    """Return the fields of formats, with keys and values in this encoding."""
    fields = _FIELDS
    if encoding is not Encoding.TEXT:
        fields = fields | {
            "k": lambda _, record: encode(record.key, encoding),
            "v": lambda _, record: encode(record.value, encoding),
        }
    if terminal:
        fields = fields | {"k": _safe(fields["k"], escaped), "h": _safe(fields["h"], escaped)}
        fields = fields | {"v": _safe(fields["v"], escaped_layout)}
    return fields


def _safe(field: Formatter, escape: Callable[[str], str]) -> Formatter:
    return lambda partition, record: escape(field(partition, record).decode("utf-8", "backslashreplace")).encode()


def _constant(data: bytes) -> Formatter:
    return lambda _partition, _record: data


def _or_null(data: bytes | None) -> bytes:
    return NULL if data is None else data


def _headers(record: Record) -> bytes:
    return b",".join(key.encode("utf-8", "surrogateescape") + b"=" + _or_null(value) for key, value in record.headers)
