"""Brokers with many topics, groups and transactional ids, and requests that are small for the work that they make of these."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from compat_tests.harness.awaiting import eventually
from compat_tests.oracle.connection import Connection
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

#: RE2 compiles it to many states, of which each is kept for each letter.
PATTERN = "((.?){30}){30}[z5]"
LONG = "a-long-name-" * 12
_OF_TRANSACTIONS = 1
#: Requests that are sent before their answers are read.
_AT_ONCE = 100


def with_topics(connection: Connection, names: list[str], configs: list[CreatableTopicConfig] | None = None) -> None:
    """Topics of one partition, which is led."""
    topics = [CreatableTopic(name, 1, 1, configs=configs or []) for name in names]
    connection.ask(CreateTopicsRequest(topics, 120_000), 7)
    asked = MetadataRequest([MetadataRequestTopic(name=name) for name in names], False)
    answered: Any = eventually(
        lambda: connection.ask(asked, 9), lambda found: not any(topic.error_code for topic in found.topics)
    )
    assert len(answered.topics) == len(names)


def with_groups(connection: Connection, topic: str, names: list[str]) -> None:
    """Each has an offset of the topic."""
    connection.ask(FindCoordinatorRequest(names[0]), 3)  # which makes the topic of the coordinators
    committed = [OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 1)])]
    requests: list[Message] = [OffsetCommitRequest(name, topics=committed) for name in names]
    _all_done(connection, requests, 8, lambda found: not found.topics[0].partitions[0].error_code)


def with_transactional_ids(connection: Connection, names: list[str]) -> None:
    """Each has a producer id."""
    connection.ask(FindCoordinatorRequest(names[0], _OF_TRANSACTIONS), 3)
    requests: list[Message] = [InitProducerIdRequest(name, 60_000) for name in names]
    _all_done(connection, requests, 4, lambda found: not found.error_code)


def _all_done(connection: Connection, requests: list[Message], version: int, done: Callable[[Any], bool]) -> None:
    """The first alone until it is done, which waits for the coordinators; then many at a time, and again those that are not."""
    eventually(lambda: connection.ask(requests[0], version), done)
    left = requests[1:]
    while left:
        some, left = left[:_AT_ONCE], left[_AT_ONCE:]
        sent = [connection.send(request, version) for request in some]
        answers = [connection.receive(type(requests[0]).API_KEY, version, number) for number in sent]
        left += [request for request, answer in zip(some, answers, strict=True) if not done(answer)]


def joining(pattern: str) -> ConsumerGroupHeartbeatRequest:
    """The first member of a new group, which subscribes to a pattern."""
    return ConsumerGroupHeartbeatRequest(
        f"pattern-{uuid.uuid4()}",
        str(uuid.uuid4()),
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex=pattern,
        topic_partitions=[],
    )
