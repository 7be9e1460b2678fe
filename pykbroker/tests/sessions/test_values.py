"""Every message as an object of JSON, and back."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.sessions.values import batches, plain, struct
from pykbroker.wire.compression import Compression
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.records import Record, encode_batch
from pykbroker.wire.tests.kafka_messages import all_versions, build, message_class


@given(st.sampled_from(all_versions()), st.randoms(use_true_random=False))
def test_what_is_written_is_read_back(which: tuple[str, int], source: random.Random) -> None:
    name, version = which
    message = build(name, version, source)
    assert struct(message_class(name), json.loads(json.dumps(plain(message)))) == message


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"topic": 1}, "MetadataRequest has no field 'topic'; there are topics"),
        ({"topics": [{"topic_id": {}}]}, "no bytes"),
    ],
)
def test_what_is_no_message(found: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        struct(MetadataRequest, found)


def test_a_batch_that_holds_much_is_not_decoded_while_others_wait() -> None:
    """A few kilobytes may hold gigabytes, or half a million records."""
    huge = encode_batch([Record(timestamp=1, value=bytes(10_000_000))], compression=Compression.ZSTD)
    many = encode_batch([Record(timestamp=1, value=b"v")] * 20_000, compression=Compression.ZSTD)
    few = encode_batch([Record(timestamp=1, value=b"v")], compression=Compression.ZSTD)
    assert [each["records"] and len(each["records"]) for each in batches(huge + many + few)] == [None, None, 1]
