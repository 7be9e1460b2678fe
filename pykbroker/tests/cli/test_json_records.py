from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.cli.json_records import record_as_json, record_from_json
from pykbroker.cli.trouble import CliError
from pykbroker.wire.records import Record

blobs = st.none() | st.binary(max_size=50) | st.text(max_size=20).map(str.encode)


@given(
    key=blobs,
    value=blobs,
    headers=st.lists(st.tuples(st.text(max_size=10), blobs), max_size=3),
    timestamp=st.integers(0, 2**50),
    partition=st.integers(0, 1000),
)
def test_what_is_printed_can_be_read(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], timestamp: int, partition: int
) -> None:
    record = Record(offset=5, timestamp=timestamp, key=key, value=value, headers=headers)
    line = json.dumps(record_as_json("t", partition, record)).encode()
    read, named = record_from_json(line, now_ms=0)
    assert named == partition
    assert (read.timestamp, read.key, read.value, list(read.headers)) == (timestamp, key, value, headers)


def test_what_is_left_out_has_a_default() -> None:
    record, partition = record_from_json(b'{"value": "v"}', now_ms=77)
    assert partition is None
    assert record == Record(timestamp=77, value=b"v", headers=[])


def test_a_value_that_is_an_object_is_written_as_json() -> None:
    record, _ = record_from_json('{"value": {"name": "Ærø"}, "key": 5}'.encode(), now_ms=0)
    assert (record.key, record.value) == (b"5", '{"name": "Ærø"}'.encode())


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"plain text",
        b"[]",
        b'"text"',
        b'{"value_base64": "***"}',
        b'{"value_base64": 5}',
        b'{"timestamp": "yesterday"}',
        b'{"partition": true}',
        b'{"headers": [{"value": "x"}]}',
        b'{"headers": [5]}',
        b'{"headers": [{"key": 5}]}',
        b"\xff",
    ],
)
def test_what_is_no_record(line: bytes) -> None:
    with pytest.raises(CliError, match="not a record in JSON"):
        record_from_json(line, now_ms=0)
