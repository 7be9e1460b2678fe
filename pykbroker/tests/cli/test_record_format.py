from __future__ import annotations

import pytest

from pykbroker.cli.record_format import column_formatter, custom_formatter
from pykbroker.client.errors import UsageError
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.records import Record

WHERE = TopicPartition("orders", 3)
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
    assert custom_formatter(template, terminal=False)(WHERE, RECORD) == printed


def test_nulls() -> None:
    assert custom_formatter("%k %K %v %V", terminal=False)(WHERE, Record()) == b"null -1 null -1"


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="%z is not a field of a format; the fields are %t topic"):
        custom_formatter("%z", terminal=False)


def test_columns_are_exact_bytes_where_no_terminal_is() -> None:
    assert column_formatter("okv", terminal=False)(WHERE, RECORD) == b"42\tk\xff\tv\x1b[31m\n"


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("\\e[1m%v\\e[0m\\n", b"\x1b[1mv\\x1b[31m\\x9b\t\n\\u202e\x1b[0m\n"),
        ("%k", b"k\\n\\xff"),
        ("%h", b"a\\x9b=\\x1bc"),
        ("%t", b"o\\x1b"),
    ],
)
def test_formats_do_no_harm_to_a_terminal(template: str, printed: bytes) -> None:
    """The format's own escapes are its user's; a value has its lines, a key and a header are of one."""
    value = "v\x1b[31m\x9b\t\n\u202e".encode()
    record = Record(key=b"k\n\xff", value=value, headers=(("a\x9b", b"\x1bc"),))
    assert custom_formatter(template, terminal=True)(TopicPartition("o\x1b", 0), record) == printed


def test_columns_do_no_harm_to_a_terminal() -> None:
    printed = column_formatter("okv", terminal=True)(WHERE, RECORD)
    assert printed == b"\x1b[2m42\x1b[0m\t\x1b[36mk\\xff\x1b[0m\tv\\x1b[31m\n"
