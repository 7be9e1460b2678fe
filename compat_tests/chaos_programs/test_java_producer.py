"""Why the shop of ``ExactlyOnce.java`` has one request in flight: a leader takes whatever sequence of a producer comes first, here as in
Apache Kafka.

With several in flight, a batch that waits at the old leader is overtaken by a later one that is sent to the new leader. If that is the
first of this producer there, the earlier one is out of order for ever: until its delivery.timeout.ms, or twice under another epoch.
"""

from __future__ import annotations

from collections.abc import Callable

from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import make_topics
from compat_tests.oracle.requests import Ask, records
from compat_tests.oracle.transacting import quiet_until
from pykbroker.testing import Kafka
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import encode_batch

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def overtaken(bootstrap: str, topic: str) -> list[tuple[int, int]]:
    """The errors and offsets of the second batch of a producer, and then of its first one."""
    ask = Ask(bootstrap, 11, "chaos")
    try:
        made = quiet_until(ask, lambda found: found.error_code == 0, InitProducerIdRequest(None, 60_000), 4)
        found = []
        for sequence in (3, 0):
            batch = encode_batch(
                records(0, 3), producer_id=made.producer_id, producer_epoch=made.producer_epoch, base_sequence=sequence
            )
            asked = ProduceRequest(
                None, -1, 10_000, [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
            )
            answer = ask.quietly(asked, 11).responses[0].partition_responses[0]
            found.append((answer.error_code, answer.base_offset))
        return found
    finally:
        ask.close()


def test_a_leader_takes_any_sequence_first(kafka: BrokerProcess, name: Callable[..., str]) -> None:
    topic = name("overtaken")
    make_topics(kafka.bootstrap, topic)
    with Kafka() as ours:
        ours.create_topic(topic)
        assert (
            overtaken(kafka.bootstrap, topic)
            == overtaken(ours.bootstrap_servers, topic)
            == [(0, 0), (OUT_OF_ORDER, -1)]
        )
