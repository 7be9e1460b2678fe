from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.cli.input_lines import BadLine
from pykbroker.cli.json_records import record_from_json
from pykbroker.cli.record_format import json_formatter
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.records import Record, encode_batch

blobs = st.none() | st.binary(max_size=50) | st.text(max_size=20).map(str.encode)


@given(
    key=blobs,
    value=blobs,
    headers=st.lists(
        st.tuples(st.binary(max_size=10).map(lambda b: b.decode("utf-8", "surrogateescape")), blobs), max_size=3
    ),
    timestamp=st.integers(0, 2**50),
    partition=st.integers(0, 1000),
)
@pytest.mark.deep
def test_what_is_printed_can_be_read(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], timestamp: int, partition: int
) -> None:
    record = Record(offset=5, timestamp=timestamp, key=key, value=value, headers=headers)
    line = json_formatter(TopicPartition("t", partition), record)
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


def test_headers_may_be_an_object_and_times_as_people_write_them() -> None:
    line = b'{"value": "v", "headers": {"h": "x", "n": null}, "timestamp": "1970-01-02T01:00:00.5+01:00"}'
    record, _ = record_from_json(line, now_ms=0)
    assert (record.headers, record.timestamp) == ([("h", b"x"), ("n", None)], 86_400_500)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "the line is empty"),
        (b"plain text", "not JSON (expecting value at character 1): plain text"),
        (b'{"value": "x"', "not JSON (expecting ',' delimiter at character 14)"),
        (b"\xff", "not JSON (not UTF-8)"),
        (b"[" * 100_000, "not JSON (nested too deeply)"),
        (b'{"value": NaN}', "not JSON (NaN is no number of JSON)"),
        (b'{"value": "\\ud800"}', "value has half of a surrogate pair"),
        (b"[]", "a list, not an object such as"),
        (b'"text"', "a string, not an object such as"),
        (b"5", "a number, not an object such as"),
        (b"null", "null, not an object such as"),
        (b'{"valu": "x"}', 'there is no field "valu"; did you mean "value"?'),
        (b'{"Value": "x"}', 'there is no field "Value"; did you mean "value"?'),
        (b'{"value": "x", "colour": 1}', 'there is no field "colour"; there are topic, partition,'),
        (b'{"key": "k"}', 'there is no value; a tombstone has "value": null'),
        (b"{}", 'there is no value; a tombstone has "value": null'),
        (b'{"value": "x", "value_base64": "eA=="}', "value and value_base64 are both there"),
        (b'{"value": "x", "key": null, "key_base64": null}', "key and key_base64 are both there"),
        (b'{"value_base64": "***"}', "value_base64 is not base64"),
        (b'{"value_base64": 5}', "value_base64 is a number, not a string"),
        (
            b'{"value": "x", "timestamp": "yesterday"}',
            'timestamp is "yesterday", not milliseconds since 1970, nor a time such as 2026-01-31T14:20:00Z',
        ),
        (b'{"value": "x", "timestamp": "2026-01-31T14:20:00"}', "has no zone; write it as in 2026-01-31T14:20:00Z"),
        (b'{"value": "x", "timestamp": "1969-01-31T14:20:00Z"}', "not milliseconds since 1970"),
        (b'{"value": "x", "value": "y"}', '"value" stands there twice'),
        (b'{"value": "x", "timestamp": 1.5}', "timestamp is a number with a fraction, not milliseconds since 1970"),
        (b'{"value": "x", "timestamp": -2}', "timestamp is -2, not milliseconds since 1970"),
        (b'{"value": "x", "timestamp": 9223372036854775808}', "timestamp is 9223372036854775808, not"),
        (b'{"value": "x", "partition": true}', "partition is true or false, not a partition's number"),
        (b'{"value": "x", "partition": -2}', "partition is -2, not a partition's number"),
        (b'{"value": "x", "headers": "h"}', 'headers is a string, not a list of {"key": ..., "value": ...}'),
        (b'{"value": "x", "headers": 5}', "headers is a number, not a list of"),
        (b'{"value": "x", "headers": [5]}', 'a header is a number, not {"key": ..., "value": ...}'),
        (b'{"value": "x", "headers": [{"value": "x"}]}', "a header has no key"),
        (b'{"value": "x", "headers": [{"key": 5, "value": "x"}]}', "a header's key is a number, not a string"),
        (b'{"value": "x", "headers": [{"key": "h"}]}', "a header has no value"),
        (b'{"value": "x", "headers": [{"key": "h", "val": "x"}]}', 'there is no field "val" in a header; did you mean'),
    ],
)
def test_what_is_no_record_is_told_in_words(line: bytes, why: str) -> None:
    with pytest.raises(BadLine) as caught:
        record_from_json(line, now_ms=0)
    assert why in caught.value.message


@given(
    line=st.binary(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "topic",
                        "partition",
                        "offset",
                        "timestamp",
                        "key",
                        "key_base64",
                        "value",
                        "value_base64",
                        "headers",
                        "other",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(lambda shape: json.dumps(shape).encode())
)
def test_a_line_of_any_shape_is_a_record_or_a_bad_line(line: bytes) -> None:
    try:
        record, _ = record_from_json(line, now_ms=0)
    except BadLine:
        return
    assert encode_batch([record])
