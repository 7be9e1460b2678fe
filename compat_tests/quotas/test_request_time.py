"""request_percentage beside Apache Kafka: a client that asks without a pause is told to wait, and its connection is muted for as long.

No rate is compared, which is the machine's; ``scripts/bench --request-quota`` prints both. A mute is known by what it takes at least.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quotas.request_time import allow, answers
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

ANSWERS: Final = 20
#: Of a client that was not told to wait so often in so many answers, the quota does not hold.
MOST: Final = 300_000
#: quota.window.size.seconds.
WINDOW_MS: Final = 1000


@pytest.mark.parametrize("broker", ["kafka", "pykbroker"])
def test_a_client_above_its_share_is_told_to_wait_and_muted(broker: str, request: pytest.FixtureRequest) -> None:
    place: BrokerProcess = request.getfixturevalue(broker)
    allow(place.bootstrap, "busy", 1)
    try:
        asked = islice(answers(place.bootstrap, "busy"), MOST)
        found = list(islice((each for each in asked if each.before_ms), ANSWERS))
        assert len(found) == ANSWERS
        assert max(each.before_ms for each in found) <= WINDOW_MS
        assert [each for each in found if each.since_ms < each.before_ms - 1] == []  # what is told is rounded
        assert not any(each.announced_ms for each in islice(answers(place.bootstrap, "other"), 1000))
    finally:
        allow(place.bootstrap, "busy", None)


@pytest.mark.parametrize("broker", ["kafka", "pykbroker"])
def test_a_fetch_above_its_share_is_answered_without_records(broker: str, request: pytest.FixtureRequest) -> None:
    place: BrokerProcess = request.getfixturevalue(broker)
    producer = Producer({"bootstrap.servers": place.bootstrap})
    producer.produce("shared-time", b"v", partition=0)
    assert producer.flush(60) == 0
    partitions = [FetchPartition(0, partition_max_bytes=1 << 20)]
    fetch = FetchRequest(max_bytes=1 << 20, session_epoch=-1, topics=[FetchTopic("shared-time", partitions=partitions)])
    allow(place.bootstrap, "reader", 0.001)
    try:
        with closing(Connection(place.bootstrap, "reader", patience_s=120)) as connection:
            found: list[Any] = [connection.ask(fetch, 12)]
            while not found[-1].throttle_time_ms:
                assert len(found[-1].responses[0].partitions[0].records)
                found.append(connection.ask(fetch, 12))
    finally:
        allow(place.bootstrap, "reader", None)
    assert (found[-1].error_code, found[-1].session_id, found[-1].responses) == (0, 0, [])
