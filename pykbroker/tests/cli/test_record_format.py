from __future__ import annotations

import pytest

from pykbroker.cli.record_format import column_formatter, custom_formatter
from pykbroker.client.errors import UsageError
from pykbroker.client.offsets import Partition
from pykbroker.wire.records import Record

WHERE = Partition("orders", 3)
RECORD = Record(
    offset=42,
    timestamp=1_769_868_000_000,
    key=b"k\xff",
    value=b"v\x1b[31m",
    headers=(("a", b"1"), ("b", None)),
)


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("%t/%p@%o\\n", b"orders/3@42\n"),
        ("%T %D", b"1769868000000 2026-01-31T14:00:00.000Z"),
        ("%k=%v", b"k\xff=v\x1b[31m"),
        ("%K,%V", b"2,6"),
        ("%h", b"a=1,b=null"),
        ("100%%\\t\\\\x\\q", b"100%\t\\x\\q"),
        ("plain", b"plain"),
    ],
)
def test_formats(template: str, printed: bytes) -> None:
    assert custom_formatter(template)(WHERE, RECORD) == printed


def test_nulls() -> None:
    assert custom_formatter("%k %K %v %V")(WHERE, Record()) == b"null -1 null -1"


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="%z is not a field of a format; the fields are %t topic"):
        custom_formatter("%z")


def test_columns_are_exact_bytes_where_no_terminal_is() -> None:
    assert column_formatter("okv", terminal=False)(WHERE, RECORD) == b"42\tk\xff\tv\x1b[31m\n"


def test_columns_do_no_harm_to_a_terminal() -> None:
    printed = column_formatter("okv", terminal=True)(WHERE, RECORD)
    assert printed == b"\x1b[2m42\x1b[0m\t\x1b[36mk\\xff\x1b[0m\tv\\x1b[31m\n"
