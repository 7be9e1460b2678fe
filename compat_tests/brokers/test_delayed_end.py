"""An EndTxn whose first copy was answered comes once more when the next transaction has begun, as after a client's timeout (KAFKA-17754).

With the first protocol of transactions (Produce below 12, EndTxn below 5) nothing tells it from an end of the next one, half of which is committed though
its producer aborts it; with the second each transaction has an epoch of its own (KIP-890). Here as at Apache Kafka, and adya judges what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from compat_tests.brokers import isolation
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import NOT_YET, Transacting, quiet_until
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.records import Record, encode_batch

PARTITIONS = 2
#: Versions of Produce and EndTxn in the first and in the second protocol.
VERSIONS = {1: (9, 3), 2: (12, 5)}


def _append(transaction: Transacting, topic: str, partition: int, value: int, sequence: int, version: int) -> None:
    if version < 12:
        transaction.add((topic, partition))
    batch = encode_batch(
        [Record(value=b"%d" % value)],
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        base_sequence=sequence,
        transactional=True,
    )

    def code(found: Any) -> int:
        return found.responses[0].partition_responses[0].error_code

    request = transaction.producing(topic, batch, partition, version=version)
    assert not code(quiet_until(transaction.ask, lambda found: code(found) not in NOT_YET, request, version))


def _read(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """What is committed in each partition; the consumer is at its end where nothing comes any more."""
    found: dict[int, list[int]] = {}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    for index in range(PARTITIONS):
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING)])
        found[index] = []
        while (message := consumer.poll(60)) is not None and message.error() is None:
            found[index].append(int(message.value() or b""))
        assert message is not None, f"the end of {topic}-{index} is not read"
    consumer.close()
    return found


def _delayed_end(broker: BrokerProcess, name: str, protocol: int) -> tuple[int, dict[int, list[int]]]:
    """What the late EndTxn is answered, and what is read: transaction 1 is committed, 2 is aborted."""
    produce_version, end_version = VERSIONS[protocol]
    with closing(Ask(broker.bootstrap, produce_version, name)) as ask:
        topic = ask.topic(partitions=PARTITIONS)
        transaction = Transacting(ask)
        append: Callable[..., None] = partial(_append, transaction, topic, version=produce_version)
        for index in range(PARTITIONS):
            append(index, 1, 0)
        late = transaction.ending(commit=True)
        transaction.end(commit=True, version=end_version)
        second = 0 if protocol == 2 else 1  # in an epoch of its own sequences begin anew
        append(0, 2, second)
        answer = transaction.ask.quietly(late, end_version)
        append(1, 2, second)
        transaction.end(commit=False, version=end_version)
        return answer.error_code, _read(broker.bootstrap, topic)


@pytest.mark.parametrize("protocol", VERSIONS)
@pytest.mark.parametrize("kind", ["kafka", "pykbroker"])
def test_a_late_end(request: pytest.FixtureRequest, name: Callable[..., str], kind: str, protocol: int) -> None:
    """Without Cargo adya is not asked."""
    code, read = _delayed_end(request.getfixturevalue(kind), name(), protocol)
    asked = isolation.CARGO is not None
    judged = isolation.verdict({1: "ok", 2: "fail"}, [read], PARTITIONS) if asked else ""
    if protocol == 1:
        assert (code, read) == (ErrorCode.NONE, {0: [1, 2], 1: [1]})
        assert "G1a" in judged or not asked
    else:
        assert (code, read) == (ErrorCode.PRODUCER_FENCED, {0: [1], 1: [1]})
        assert judged == "ok 4" or not asked
