"""Filters records by conditions on keys, values and headers, as users write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pykbroker.client.errors import UsageError
from pykbroker.wire.records import Record

Filter = Callable[[Record], bool]

_CONDITION = re.compile(
    r"(?P<field>key|value|header\.(?P<header>.+?))(?P<operator>=~|!~|!=|=)(?P<wanted>.*)", re.DOTALL
)
HELP = "key=TEXT, value=~REGEX, header.NAME!=TEXT, key!~REGEX"


def parse_filters(texts: Iterable[str]) -> Filter | None:
    """Return a filter of records that meet all conditions; None without conditions. Raises UsageError."""
    conditions = [_parse(text) for text in texts]
    if not conditions:
        return None
    return lambda record: all(condition(record) for condition in conditions)


def _parse(text: str) -> Filter:
    """Parse a condition. A null or missing value equals nothing and matches nothing."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a filter; write it as {HELP}.")
    values = _field(found["field"], found["header"])
    wanted = found["wanted"].encode("utf-8", "surrogateescape")
    negated = found["operator"].startswith("!")
    if found["operator"].endswith("~"):
        try:
            pattern = re.compile(wanted)
        except re.error as error:
            raise UsageError(f"{found['wanted']!r} is not a regular expression: {error}.") from None
        return lambda record: negated != any(pattern.search(value) is not None for value in values(record))
    return lambda record: negated != any(value == wanted for value in values(record))


def _field(field: str, header: str | None) -> Callable[[Record], Iterable[bytes]]:
    """Return the values that a condition on this field tests; a record may have a header several times."""
    if field == "key":
        return lambda record: () if record.key is None else (record.key,)
    if field == "value":
        return lambda record: () if record.value is None else (record.value,)
    return lambda record: [value for name, value in record.headers if name == header and value is not None]
