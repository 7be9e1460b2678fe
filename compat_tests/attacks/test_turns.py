"""Requests that are much work, to both brokers: both answer the same, and both answer others meanwhile.

Meanwhile is counted in records that another client produces, one after the other, before the answer comes. Seconds are printed
(``-s`` shows them), and nothing is held to them: ``scripts/bench --stalls`` has them as a table. How long the longest turn of
pykbroker's loop is, in steps, is in ``pykbroker/tests/handlers/test_longest_turn.py`` and ``test_crowds.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import copy
from typing import Any

import pytest

from compat_tests.attacks.meanwhile import ENOUGH, MINE, Asked, attacked
from compat_tests.conftest import LONG as DEEP
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.crowded import LONG, PATTERN, joining, with_groups, with_topics, with_transactional_ids
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

GROUPS = 30_000 if DEEP else 6000
DOOMED = 2000 if DEEP else 500
LISTED, MISSING, IDS = 300, 3000, 60
#: Long ones, so that a pattern has much to match, and others.
LONG_NAMES = [f"{LONG}{number}" for number in range(80)]
NAMES = sorted([*LONG_NAMES, *(f"listed-{number}" for number in range(LISTED))])

Both = list[tuple[BrokerProcess, Connection]]


@pytest.fixture(scope="module")
def both(brokers: list[BrokerProcess]) -> Iterator[Both]:
    """The brokers, with topics, groups and transactional ids."""
    made = [(broker, Connection(broker.bootstrap, patience_s=120)) for broker in brokers]
    for _, connection in made:
        with_topics(connection, [MINE, *NAMES])
        with_groups(connection, MINE, [f"group-{number}" for number in range(GROUPS)])
        with_transactional_ids(connection, [f"{LONG}{number}" for number in range(IDS)])
    yield made
    for _, connection in made:
        connection.close()


def test_topics_are_deleted_beside_groups_that_have_nothing_to_do_with_them(both: Both) -> None:
    doomed = [f"doomed-{number}" for number in range(DOOMED)]
    effects = []
    for broker, connection in both:

        def made(connection: Connection = connection) -> tuple[DeleteTopicsRequest, int]:
            with_topics(connection, doomed)
            with_groups(connection, doomed[0], ["of-doomed"])
            return DeleteTopicsRequest(topic_names=doomed, timeout_ms=60_000), 5

        seen = attacked(broker, made)
        assert seen.others >= ENOUGH
        answer = seen.answer
        eventually(lambda: _offsets(connection, "of-doomed"), lambda found: not found)  # noqa: B023
        topics: Any = connection.ask(MetadataRequest(None, False), 9)
        left = {topic.name for topic in topics.topics} & {*doomed, MINE, *NAMES}
        offsets = [_offsets(connection, f"group-{number}") for number in (0, GROUPS - 1)]
        effects.append((sorted((each.name, each.error_code) for each in answer.responses), left, offsets))
    assert effects[0] == effects[1]
    assert effects[1][1] == {MINE, *NAMES}


def _offsets(connection: Connection, group: str) -> list[tuple[str, int]]:
    """All offsets of a group: topics, and those of their partition."""
    answer: Any = connection.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)]), 8)
    return [(topic.name, topic.partitions[0].committed_offset) for topic in answer.groups[0].topics]


def test_a_group_subscribes_to_a_pattern(both: Both) -> None:
    assigned = []
    for broker, connection in both:
        joined = [joining("no-topic")]

        def join(joined: list[ConsumerGroupHeartbeatRequest] = joined) -> Asked:
            # Another one each time, since a pattern is matched once.
            joined.append(joining(f"{PATTERN}x{{0,{len(joined)}}}"))
            return joined[-1], 1

        def beat(answer: Any, joined: list[ConsumerGroupHeartbeatRequest] = joined) -> Asked | None:
            """Until topics are assigned, which they are when the pattern was matched."""
            assert not answer.error_code, answer.error_message
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return None
            again = copy(joined[-1])
            again.member_epoch = answer.member_epoch
            return again, 1

        seen = attacked(broker, join, beat)
        assert seen.others >= ENOUGH
        topics: Any = connection.ask(MetadataRequest(None, False), 12)
        names = {topic.topic_id: topic.name for topic in topics.topics}
        assigned.append(sorted(names[each.topic_id] for each in seen.answer.assignment.topic_partitions))
    assert assigned[0] == assigned[1] == sorted(name for name in NAMES if name.endswith("5"))


def test_transactions_are_listed_by_a_pattern(both: Both) -> None:
    listed = []
    for broker, _ in both:
        patterns = (f"{PATTERN}x{{0,{number}}}" for number in itertools.count(1))  # what was matched before is no work
        seen = attacked(broker, lambda: (ListTransactionsRequest(transactional_id_pattern=next(patterns)), 2))  # noqa: B023
        assert seen.others >= ENOUGH
        answer = seen.answer
        listed.append(sorted((each.transactional_id, each.transaction_state) for each in answer.transaction_states))
    assert listed[0] == listed[1]
    assert [name for name, _ in listed[1]] == sorted(f"{LONG}{number}" for number in range(5, IDS, 10))


def test_topics_are_described(both: Both) -> None:
    missing = sorted(f"missing-{number}" for number in range(MISSING))
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in [*NAMES, *missing]]), 0
    described = []
    for broker, _ in both:
        seen = attacked(broker, lambda: request)
        assert seen.others >= ENOUGH
        answer = seen.answer
        described.append(
            [
                (
                    topic.name,
                    topic.error_code,
                    [(each.partition_index, len(each.isr_nodes)) for each in topic.partitions],
                )
                for topic in answer.topics
            ]
        )
    assert described[0] == described[1]
    assert [name for name, error, _ in described[1] if not error] == NAMES


def test_groups_are_listed(both: Both) -> None:
    listed = []
    for broker, _ in both:
        seen = attacked(broker, lambda: (ListGroupsRequest(), 5))
        assert seen.others >= ENOUGH
        answer = seen.answer
        listed.append(
            sorted(
                (each.group_id, each.group_state, each.group_type)
                for each in answer.groups
                if each.group_id.startswith("group-")
            )
        )
    assert listed[0] == listed[1]
    assert len(listed[1]) == GROUPS
