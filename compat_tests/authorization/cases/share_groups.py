"""Share groups: being a member, reading and acknowledging, their offsets, and the share coordinator's own requests."""

from __future__ import annotations

import time
from typing import Any

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from compat_tests.harness.awaiting import LIMIT_S
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.dead_letters import dead_letter_topic, keep_letters
from compat_tests.oracle.cases.share_groups import beats, joined, new_group
from pykbroker.security.operations import CLUSTER_ACTION, DELETE, DESCRIBE, READ
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest
from pykbroker.wire.primitives import uuid_to_str

_ACCEPT, _REJECT = 1, 3
#: A fetch is answered as soon as there are records; before that Kafka reads the group's state for the first time.
_WAIT_MS = 15_000


def _read(ask: SignedAsk, *topics: str) -> str:
    """A group with a member that reads the topics, which have records; the administrator sets it up."""
    group = new_group(ask)
    for number, topic in enumerate(topics):
        ask.fill(topic)
        joined(ask, group, topic, member=f"member-{number}")
    return group


@case(ApiKey.SHARE_GROUP_HEARTBEAT, (GROUP, "group", READ), (TOPIC, "t", DESCRIBE), (TOPIC, "u", READ))
def a_member_of_a_share_group_joins_and_leaves(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    group = new_group(ask)
    for topics in (names, [ask.name("missing")], names[:1]):
        ask.answered(ask.send(beats(group, "member", 0, topics)), _while_state_begins)
    ask(beats(group, "member", -1))


def _while_state_begins(answer: Any) -> None:
    """What is assigned, and how often that has changed, depends on when the share coordinator has begun the state of the topics."""
    answer.assignment, answer.member_epoch = None, min(answer.member_epoch, 1)


@case(ApiKey.SHARE_GROUP_DESCRIBE, (GROUP, "group", DESCRIBE), (TOPIC, "t", DESCRIBE))
def share_groups_are_described(ask: SignedAsk) -> None:
    group = _read(ask, ask.topic("t"))
    described = ask.quietly_as_user(ShareGroupDescribeRequest([group, ask.name("none")], True))
    for each in described.groups:
        each.group_epoch = each.assignment_epoch = 0
        for member in each.members:
            member.member_epoch = 0
    ask.keep(described)


@case(ApiKey.SHARE_FETCH, (GROUP, "group", READ), (TOPIC, "t", READ))
def records_are_acquired(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    group = _read(ask, *names)
    topics = [FetchTopic(ask.topic_ids[name], [FetchPartition(0)]) for name in names]
    ask(ShareFetchRequest(group, "reader", 0, _WAIT_MS, 1, 1 << 20, 500, 500, topics=topics))


@case(ApiKey.SHARE_ACKNOWLEDGE, (GROUP, "group", READ), (TOPIC, "t", READ))
def records_are_acknowledged(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    group = _read(ask, *names)
    connection = ask.connect()
    topics = [FetchTopic(ask.topic_ids[name], [FetchPartition(0)]) for name in names]
    connection.ask(ShareFetchRequest(group, "reader", 0, _WAIT_MS, 1, 1 << 20, 500, 500, topics=topics), 2)
    said = [AcknowledgePartition(0, [AcknowledgementBatch(0, 4, [_ACCEPT])])]
    acknowledged = [AcknowledgeTopic(ask.topic_ids[name], said) for name in names]
    ask.keep(connection.ask(ShareAcknowledgeRequest(group, "reader", 1, topics=acknowledged), ask.version))


@case(ApiKey.SHARE_ACKNOWLEDGE, (GROUP, "group", READ), (TOPIC, "t", READ))
def letters_need_no_right_to_their_topic(ask: SignedAsk) -> None:
    """The broker writes them, not the member."""
    letters = dead_letter_topic(ask, errors_deadletterqueue_group_enable="true")
    topic = ask.topic("t")
    group = _read(ask, topic)
    configure(ask, group, "errors.deadletterqueue.topic.name", letters)
    connection = ask.connect()
    topics = [FetchTopic(ask.topic_ids[topic], [FetchPartition(0)])]
    got = connection.ask(ShareFetchRequest(group, "reader", 0, _WAIT_MS, 1, 1 << 20, 500, 500, topics=topics), 2)
    said = [AcknowledgePartition(0, [AcknowledgementBatch(0, 0, [_REJECT])])]
    rejected = [AcknowledgeTopic(ask.topic_ids[topic], said)]
    ask.keep(connection.ask(ShareAcknowledgeRequest(group, "reader", 1, topics=rejected), ask.version))
    got_any = any(each.acquired_records for response in got.responses for each in response.partitions)
    keep_letters(ask, letters, int(got_any))


@case(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, (GROUP, "group", DESCRIBE), (TOPIC, "t", DESCRIBE))
def offsets_of_share_groups_are_described(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    group = _read(ask, *names)
    topics = [DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in (*names, ask.name("missing"))]
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, topics)]))
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)]))


@case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, (GROUP, "group", READ), (TOPIC, "t", READ))
def offsets_of_share_groups_are_altered(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    partition = AlterShareGroupOffsetsRequestPartition(0, 3)
    topics = [AlterShareGroupOffsetsRequestTopic(name, [partition]) for name in names]
    ask(AlterShareGroupOffsetsRequest(ask.name("group"), topics))


@case(ApiKey.DELETE_SHARE_GROUP_OFFSETS, (GROUP, "group", DELETE), (TOPIC, "t", READ))
def offsets_of_share_groups_are_deleted(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    group = _read(ask, *names)
    for number in range(len(names)):
        ask.quietly(beats(group, f"member-{number}", -1), 1)
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in (*names, ask.name("missing"))]
    ask(DeleteShareGroupOffsetsRequest(group, topics))


# ---- what brokers ask each other


def _coordinated(ask: SignedAsk) -> tuple[str, bytes]:
    """A group and a topic, once their share coordinator is there and knows them."""
    group, topic_id = ask.name("group"), ask.topic_ids[ask.topic("t")]
    key = FindCoordinatorRequest(key_type=2, coordinator_keys=[f"{group}:{uuid_to_str(topic_id)}:0"])
    data = initialize_share_group_state.PartitionData(0, 0, 3)
    topic = initialize_share_group_state.InitializeStateData(topic_id, [data])
    begun = initialize_share_group_state.InitializeShareGroupStateRequest(group, [topic])
    deadline = time.monotonic() + LIMIT_S
    while ask.quietly(key, 6).coordinators[0].error_code or ask.quietly(begun, 0).results[0].partitions[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return group, topic_id


@case(ApiKey.INITIALIZE_SHARE_GROUP_STATE, (CLUSTER, None, CLUSTER_ACTION))
def the_state_of_a_share_group_is_begun(ask: SignedAsk) -> None:
    group, topic_id = _coordinated(ask)
    data = initialize_share_group_state.PartitionData(0, 0, 3)
    topic = initialize_share_group_state.InitializeStateData(topic_id, [data])
    ask(initialize_share_group_state.InitializeShareGroupStateRequest(group, [topic]))


@case(ApiKey.READ_SHARE_GROUP_STATE, (CLUSTER, None, CLUSTER_ACTION))
def the_state_of_a_share_group_is_read(ask: SignedAsk) -> None:
    group, topic_id = _coordinated(ask)
    topic = read_share_group_state.ReadStateData(topic_id, [read_share_group_state.PartitionData(0, 0)])
    ask(read_share_group_state.ReadShareGroupStateRequest(group, [topic]))


@case(ApiKey.WRITE_SHARE_GROUP_STATE, (CLUSTER, None, CLUSTER_ACTION))
def the_state_of_a_share_group_is_written(ask: SignedAsk) -> None:
    group, topic_id = _coordinated(ask)
    topic = write_share_group_state.WriteStateData(topic_id, [write_share_group_state.PartitionData(0, 0, 0, 3)])
    ask(write_share_group_state.WriteShareGroupStateRequest(group, [topic]))


@case(ApiKey.DELETE_SHARE_GROUP_STATE, (CLUSTER, None, CLUSTER_ACTION))
def the_state_of_a_share_group_is_deleted(ask: SignedAsk) -> None:
    group, topic_id = _coordinated(ask)
    topic = delete_share_group_state.DeleteStateData(topic_id, [delete_share_group_state.PartitionData(0)])
    ask(delete_share_group_state.DeleteShareGroupStateRequest(group, [topic]))


@case(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, (CLUSTER, None, CLUSTER_ACTION))
def the_state_of_a_share_group_is_summed_up(ask: SignedAsk) -> None:
    group, topic_id = _coordinated(ask)
    data = read_share_group_state_summary.PartitionData(0, 0)
    topic = read_share_group_state_summary.ReadStateSummaryData(topic_id, [data])
    ask(read_share_group_state_summary.ReadShareGroupStateSummaryRequest(group, [topic]))
