"""Records as Kafka's default formatter prints them; compat_tests/tools compares with Kafka's."""

from __future__ import annotations

import pytest

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.console_format import Form
from pykbroker.container.tools.running import ToolError
from pykbroker.wire.records import Record

RECORD = Record(timestamp=7, key=b"k", value=b"v", headers=[("h", b"1"), ("i", None)], offset=3)


@pytest.mark.parametrize(
    ("properties", "line"),
    [
        ({}, b"v\n"),
        ({"print.key": "true", "key.separator": ":"}, b"k:v\n"),
        ({"print.offset": "true", "print.partition": "true", "print.value": "false"}, b"Partition:2\tOffset:3\n"),
        ({"print.timestamp": "true", "line.separator": "|"}, b"CreateTime:7\tv|"),
        ({"print.headers": "true", "headers.separator": ";", "null.literal": "-"}, b"h:1;i:-\tv\n"),
        ({"key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer"}, b"v\n"),
    ],
)
def test_lines(properties: dict[str, str], line: bytes) -> None:
    assert Form(properties).line(TopicPartition("t", 2), RECORD) == line


def test_what_is_not_there() -> None:
    bare = Record(timestamp=7, key=None, value=None, headers=[], offset=3)
    shown = {"print.key": "true", "print.headers": "true"}
    assert Form(shown).line(TopicPartition("t", 0), bare) == b"NO_HEADERS\tnull\tnull\n"
    with pytest.raises(ToolError, match=r"print.colour is not known; there are print.timestamp"):
        Form({"print.colour": "true"})
