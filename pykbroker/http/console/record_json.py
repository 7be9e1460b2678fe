"""Records as JSON: fields as text or else base64, and cut where they are long."""

from __future__ import annotations

import base64
import codecs
import re
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.internal_records import meaning
from pykbroker.http.console.reading import Unread
from pykbroker.wire.errors import WireError

if TYPE_CHECKING:
    from pykbroker.wire.records import Record

#: Bytes of a key, value or header that a list shows.
IN_A_LIST: Final = 2048
#: The same for a single record.
SINGLE: Final = 1024 * 1024
#: Headers, and bytes of a header's value, in a list and for a single record.
_HEADERS_IN_A_LIST, _HEADERS_SINGLE = 20, 100
_HEADER_IN_A_LIST: Final = 256
_LONGEST_NAME: Final = 200
#: Control characters that text does not have.
_no_text: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]").search

_utf8 = codecs.getincrementaldecoder("utf-8")


def record_json(topic: str, partition: int, record: Record, *, control: bool, most: int = IN_A_LIST) -> dict[str, Any]:
    """Return a record with its position; records of internal topics are decoded, too."""
    headers, header = (_HEADERS_SINGLE, most) if most > IN_A_LIST else (_HEADERS_IN_A_LIST, _HEADER_IN_A_LIST)
    found: dict[str, Any] = {
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": part(record.key, most),
        "value": part(record.value, most),
        "headers": [
            [name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")[:_LONGEST_NAME], part(value, header)]
            for name, value in record.headers[:headers]
        ],
    }
    if len(record.headers) > headers:
        found["headers_left_out"] = len(record.headers) - headers
    if isinstance(record, Unread):
        found |= {"unread": record.why, "last": record.last}
    if control:
        found["control"] = True
    means = _meaning(topic, record, control=control)
    if means is not None:
        found["meaning"] = means
    return found


def part(data: bytes | None, most: int) -> dict[str, Any] | None:
    """Return a key, a value, or a header's value; None for null. ``size`` is its full size."""
    if data is None:
        return None
    begin = data[:most]
    found: dict[str, Any] = {"size": len(data)}
    if len(begin) < len(data):
        found["cut"] = True
    text = _text(begin, whole=len(begin) == len(data))
    if text is None:
        found["base64"] = base64.b64encode(begin).decode()
    else:
        found["text"] = text
    return found


def _text(data: bytes, *, whole: bool) -> str | None:
    """Return ``data`` as text; None if it is not UTF-8 or has control characters. A character cut at its end is dropped."""
    try:
        text = data.decode() if whole else _utf8().decode(data, final=False)
    except UnicodeDecodeError:
        return None
    return None if _no_text(text) else text


def _meaning(topic: str, record: Record, *, control: bool) -> dict[str, Any] | None:
    try:
        return meaning(topic, record, control=control)
    except WireError as error:
        return {"type": "unreadable", "key": None, "value": str(error)}
