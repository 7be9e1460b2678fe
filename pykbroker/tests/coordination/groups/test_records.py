"""Records of committed offsets, beside the generated encoder of their layouts."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from pykbroker.coordination.groups.records import decode, encode, offset_record
from pykbroker.wire.internal.coordinator import encode_coordinator_key, encode_coordinator_value
from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.primitives import ZERO_UUID

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=130)
INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
VALUES = st.builds(
    OffsetCommitValue,
    offset=INT64,
    leader_epoch=INT32,
    metadata=TEXT,
    commit_timestamp=INT64,
    expire_timestamp=st.just(-1) | st.integers(0, 2**63 - 1),
    topic_id=st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16),
    unknown_tagged_fields=st.none() | st.dictionaries(st.integers(1, 300), st.binary(max_size=200), max_size=2),
).filter(lambda value: value.expire_timestamp < 0 or not value.unknown_tagged_fields)


@given(TEXT, TEXT, INT32, VALUES)
@example("g", "t", 0, OffsetCommitValue(1, -1, "x" * 126, 1, topic_id=b"i" * 16))
@example("g", "t", 0, OffsetCommitValue(1, -1, "x" * 127, 1, topic_id=b"i" * 16))
def test_an_offset_is_encoded_as_its_layout_says(group_id, topic, partition, value) -> None:
    record = offset_record(group_id, topic, partition, value)
    key, encoded = encode(record)
    assert key == encode_coordinator_key(record.key)
    assert encoded == encode_coordinator_value(value, record.value_version)
    read = decode(key, encoded)
    assert (read.key, read.value.offset, read.value.metadata) == (record.key, value.offset, value.metadata)
