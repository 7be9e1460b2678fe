"""What a share group gives up (KIP-1191): its dead letters, what becomes of records without them, and the records of both in
``__share_group_state``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.share_groups import (
    ACCEPT,
    ACKNOWLEDGE,
    FETCH,
    REJECT,
    RELEASE,
    acknowledges,
    acquired,
    asks,
    fetches,
    joined,
    new_group,
    read,
)
from compat_tests.oracle.requests import Ask
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.internal.catalogue import SHARE_RECORDS
from pykbroker.wire.internal.coordinator import decode_coordinator_key, decode_coordinator_value
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.records import Record, decode_records, read_batch_header

_TOPIC, _COPIES = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.copy.record.enable"
_PATIENCE_S = 10
_BIG = 50_000_000
_EARLIEST = -2


def records_of(ask: Ask, topic: str, index: int = 0) -> Iterator[Record]:
    """All records of a partition; none while there is no such topic. What is superseded in ``__share_group_state`` is deleted after
    minutes, so it does not begin at 0.
    """
    earliest = [ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=_EARLIEST)])]
    (found,) = ask.quietly(ListOffsetsRequest(-1, topics=earliest), 5).topics[0].partitions
    begin = FetchPartition(index, -1, max(found.offset, 0), partition_max_bytes=_BIG)
    topics = [FetchTopic(topic, partitions=[begin])]
    answer = ask.quietly(FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=_BIG, topics=topics), 11)
    batches = bytes(answer.responses[0].partitions[0].records or b"")
    position = 0
    while position < len(batches):
        header = read_batch_header(batches, position)
        yield from decode_records(batches[position : position + header.size])
        position += header.size


def keep_letters(ask: Ask, topic: str, count: int) -> None:
    """Keep the letters of a topic, once there are so many."""
    deadline = time.monotonic() + _PATIENCE_S
    while len(found := list(records_of(ask, topic))) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    ask.keep([(each.key, each.value, list(each.headers)) for each in found])


def keep_transitions(ask: Ask, group: str, done: int) -> None:
    """Keep which states are written of each offset, and how often it was delivered: Apache Kafka archives what was rejected one by one,
    in any order, and pykbroker all that was rejected together.
    """
    written = {
        (offset, state, count)
        for _, value in _states(ask, group, done)
        for first, last, state, count in batches_of(value)
        for offset in range(first, last + 1)
    }
    ask.keep(sorted(written))


def keep_states(ask: Ask, group: str, done: int) -> None:
    """Keep what is written about a group in ``__share_group_state``, once it says that all before ``done`` is done with."""
    ask.keep([without_times(name, value) for name, value in _states(ask, group, done)])


def _states(ask: Ask, group: str, done: int) -> list[tuple[str, Any]]:
    (topic,) = ask.quietly(MetadataRequest([MetadataRequestTopic(name=SHARE_GROUP_STATE)], False), 12).topics
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        found = [
            (type(key).__name__, value)
            for index in range(len(topic.partitions))
            for each in records_of(ask, SHARE_GROUP_STATE, index)
            if (key := decode_coordinator_key(each.key, SHARE_RECORDS)) is not None and key.group_id == group
            for value in [each.value and decode_coordinator_value(key, each.value, SHARE_RECORDS)]
        ]
        over = [value for _, value in found if value and value.start_offset + value.delivery_complete_count >= done]
        if over or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def batches_of(value: Any) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in value.state_batches
    ]


def without_times(name: str, value: Any) -> Any:
    """A record of ``__share_group_state``."""
    return (
        name,
        value.snapshot_epoch,
        getattr(value, "state_epoch", None),
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        batches_of(value),
    )


def dead_letter_topic(ask: Ask, **configs: str) -> str:
    topic = f"dlq.{ask.prefix}"
    settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
    created = ask.quietly(CreateTopicsRequest([CreatableTopic(topic, 1, 1, [], settings)], 10_000), 7)
    assert created.topics[0].error_code == 0, created
    ask.learn(topic)
    return topic


def reads_with_letters(ask: Ask, dead_letters: str, *, copies: bool) -> tuple[str, str]:
    """A group that gives up after two deliveries, and the topic that it reads."""
    topic, group = ask.topic(), new_group(ask)
    ask.fill(topic)
    configure(ask, group, _TOPIC, dead_letters)
    configure(ask, group, _COPIES, "true" if copies else "false")
    configure(ask, group, "share.delivery.count.limit", "2")
    joined(ask, group, topic)
    return group, topic


def _give_up(ask: Ask, group: str, topic: str) -> None:
    """Reject one record, release another as often as is allowed, and accept the others."""
    acquired(ask, group, topic)
    said = (0, 9, [ACCEPT, REJECT, RELEASE, REJECT, REJECT, *[ACCEPT] * 5])
    asks(ask, acknowledges(ask, group, topic, 1, said), ACKNOWLEDGE)
    asks(ask, fetches(ask, group, topic, 2), FETCH)
    asks(ask, acknowledges(ask, group, topic, 3, (2, 2, [RELEASE])), ACKNOWLEDGE)


@case(ApiKey.SHARE_ACKNOWLEDGE, since=2)
def letters_without_the_records(ask: Ask) -> None:
    letters = dead_letter_topic(ask, errors_deadletterqueue_group_enable="true")
    group, topic = reads_with_letters(ask, letters, copies=False)
    _give_up(ask, group, topic)
    keep_letters(ask, letters, 4)
    asks(ask, fetches(ask, group, topic, 4), FETCH)
    keep_transitions(ask, group, 10)


@case(ApiKey.SHARE_ACKNOWLEDGE, since=2)
def letters_with_the_records(ask: Ask) -> None:
    letters = dead_letter_topic(ask, errors_deadletterqueue_group_enable="true")
    group, topic = reads_with_letters(ask, letters, copies=True)
    _give_up(ask, group, topic)
    keep_letters(ask, letters, 4)


@case(ApiKey.SHARE_ACKNOWLEDGE, since=2)
def no_letters_where_the_topic_is_not_for_them(ask: Ask) -> None:
    letters = dead_letter_topic(ask)
    group, topic = reads_with_letters(ask, letters, copies=False)
    _give_up(ask, group, topic)
    keep_transitions(ask, group, 10)
    keep_letters(ask, letters, 0)


@case(ApiKey.SHARE_ACKNOWLEDGE, since=2)
def no_letters_without_a_topic(ask: Ask) -> None:
    group, topic = reads_with_letters(ask, f"dlq.absent-{ask.prefix}", copies=False)
    _give_up(ask, group, topic)
    keep_transitions(ask, group, 10)


@case(ApiKey.SHARE_FETCH, since=2)
def a_session_that_ends_counts_as_a_delivery(ask: Ask) -> None:
    group, topic = read(ask)
    configure(ask, group, "share.delivery.count.limit", "2")
    for _ in range(3):
        asks(ask, fetches(ask, group, topic, 0))
        asks(ask, fetches(ask, group, topic, -1))
    keep_states(ask, group, 10)


@case(ApiKey.SHARE_ACKNOWLEDGE, since=2)
def states_of_what_is_acknowledged_in_parts(ask: Ask) -> None:
    group, topic = read(ask)
    acquired(ask, group, topic)
    for epoch, said in enumerate(((2, 3, [ACCEPT]), (0, 0, [RELEASE]), (5, 9, [REJECT]), (1, 1, [ACCEPT])), 1):
        asks(ask, acknowledges(ask, group, topic, epoch, said), ACKNOWLEDGE)
    asks(ask, fetches(ask, group, topic, 5), FETCH)
    asks(ask, acknowledges(ask, group, topic, 6, (0, 0, [ACCEPT]), (4, 4, [ACCEPT])), ACKNOWLEDGE)
    keep_states(ask, group, 10)
