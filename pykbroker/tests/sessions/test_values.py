"""Every message as an object of JSON, and back."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.sessions.values import plain, struct
from pykbroker.wire.messages.metadata import MetadataRequest
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
