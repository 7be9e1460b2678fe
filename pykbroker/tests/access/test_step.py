"""A broker with an authorizer, asked by who has some of the rights: what is carried out, and what is told of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.handlers.contract import CloseConnection
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place, through
from pykbroker.security.acl import ALLOW, Acl, AclFilter
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import ALTER, CREATE, DELETE, DESCRIBE, READ, WRITE
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, LITERAL, TOPIC
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

SETTINGS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
    "auto.create.topics.enable": "true",
}
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
BATCH = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"v", headers=[])])


class World(MemoryCluster):
    """A broker with topics t and u, asked by ``who``, who has no rights but those that the test gives."""

    def __init__(self) -> None:
        self.who = "User:alice"

        def as_who(_broker: Any, ctx: Any, _request: Any, proceed: Callable[[], Any]) -> Any:
            ctx.principal = self.who
            return proceed()

        super().__init__(
            dispatcher=Dispatcher(filled={Place.OBSERVE: through(as_who), Place.AUTHORISE: authorise}), **SETTINGS
        )
        for name in ("t", "u"):
            self.topic(name, 1)

    def allow(self, *rights: tuple[int, str, int]) -> None:
        acls = [Acl(kind, name, LITERAL, "User:alice", "*", operation, ALLOW) for kind, name, operation in rights]
        assert self.controller.create_acls(acls).value == [None] * len(acls)

    def deny_all(self) -> None:
        _ = self.controller.delete_acls([AclFilter()]).value


def written(*topics: str, acks: int = -1) -> ProduceRequest:
    data = [TopicProduceData(name=name, partition_data=[PartitionProduceData(0, BATCH)]) for name in topics]
    return ProduceRequest(None, acks, 1000, data)


def test_what_is_denied_is_told_and_the_rest_is_written() -> None:
    made = World()
    made.allow((TOPIC, "t", WRITE))
    answer = made.ask(written("t", "u", "missing"), 9)
    codes = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
    assert codes == {"t": 0, "u": DENIED, "missing": DENIED}
    assert made.partition("t").log_end_offset == 1


def test_a_producer_that_wants_no_answer_is_told_by_the_end_of_its_connection() -> None:
    made = World()
    made.allow((TOPIC, "t", WRITE))
    assert made.ask(written("t", acks=0), 9) is None
    with pytest.raises(CloseConnection, match="acks=0 is denied"):
        made.ask(written("t", "u", acks=0), 9)
    assert made.partition("t").log_end_offset == 2  # what is allowed was written


def test_a_session_is_told_when_a_right_is_gone_though_nothing_was_written() -> None:
    made = World()
    made.allow((TOPIC, "t", READ))
    topics = [FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=1000)])]
    opened = made.ask(FetchRequest(max_wait_ms=0, session_epoch=0, topics=topics, max_bytes=1000), 12)
    assert opened.responses[0].partitions[0].error_code == 0

    def again(epoch: int) -> list[int]:
        answer = made.ask(FetchRequest(session_id=opened.session_id, session_epoch=epoch, max_wait_ms=0), 12)
        return [partition.error_code for topic in answer.responses for partition in topic.partitions]

    assert again(1) == []
    made.deny_all()
    assert again(2) == [DENIED]
    made.allow((TOPIC, "t", READ))
    assert again(3) == [0]


def test_a_fetch_that_waits_gets_nothing_once_its_right_is_gone() -> None:
    """Apache Kafka asks once, when the fetch comes, and it still gets what is written then."""
    made = World()
    made.allow((TOPIC, "t", READ))
    topics = [FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=1000)])]
    waiting = made.post(
        FetchRequest(max_wait_ms=1000, min_bytes=1, session_epoch=-1, topics=topics, max_bytes=1000), 12
    )
    made.deny_all()
    assert not waiting.done
    made.who = "User:admin"
    assert made.ask(written("t"), 9).responses[0].partition_responses[0].error_code == 0
    made.settle()
    data = waiting.value.responses[0].partitions[0]
    assert (data.error_code, data.records or b"") == (DENIED, b"")


def test_topics_are_hidden_from_who_may_not_describe_them() -> None:
    made = World()
    made.allow((TOPIC, "t", READ))
    for _ in range(2):  # the second time from what is kept for whoever asks the same
        everything = made.ask(MetadataRequest(None), 12)
        assert [topic.name for topic in everything.topics] == ["t"]
    by_name = made.ask(MetadataRequest([MetadataRequestTopic(name=name) for name in ("u", "missing")]), 12)
    assert [(topic.error_code, topic.topic_id) for topic in by_name.topics] == [(DENIED, bytes(16))] * 2
    made.who = "User:admin"
    assert len((made.ask(MetadataRequest(None), 12)).topics) == 2


def test_a_topic_is_made_by_asking_only_for_who_may_make_it() -> None:
    made = World()
    made.allow((TOPIC, "new", DESCRIBE))
    asked = MetadataRequest([MetadataRequestTopic(name="new")], True)
    assert (made.ask(asked, 12)).topics[0].error_code == DENIED
    assert made.image.topic("new") is None
    made.allow((TOPIC, "new", CREATE))
    made.ask(asked, 12)
    assert made.image.topic("new") is not None


def test_operations_that_are_allowed_are_told() -> None:
    made = World()
    assert (made.ask(DescribeClusterRequest(True), 1)).cluster_authorized_operations == 0
    made.allow((CLUSTER, CLUSTER_NAME, ALTER))
    answer = made.ask(DescribeClusterRequest(True), 1)
    assert answer.cluster_authorized_operations == 1 << ALTER | 1 << DESCRIBE


def test_groups_are_hidden_from_who_may_not_describe_them() -> None:
    made = World()
    made.who = "User:admin"
    for group in ("g", "h"):
        partitions = [OffsetCommitRequestPartition(0, 5)]
        made.coordinator(group)
        made.ask(OffsetCommitRequest(group, -1, "", topics=[OffsetCommitRequestTopic("t", partitions=partitions)]), 8)
    made.who = "User:alice"
    assert made.ask(ListGroupsRequest(), 4).groups == []
    made.allow((GROUP, "g", READ))
    assert [group.group_id for group in made.ask(ListGroupsRequest(), 4).groups] == ["g"]


def test_a_topic_that_may_be_made_but_not_described_is_answered_without_its_settings() -> None:
    made = World()
    made.allow((TOPIC, "new", CREATE))
    topics = [CreatableTopic(name, 3, 1) for name in ("new", "other")]
    answer = made.ask(CreateTopicsRequest(topics, 1000), 7)
    new, other = sorted(answer.topics, key=lambda topic: topic.name)
    assert (new.error_code, new.topic_config_error_code, new.num_partitions) == (0, DENIED, -1)
    assert (other.error_code, other.error_message) == (DENIED, "Authorization failed.")


def test_access_lists_are_for_who_may_alter_the_cluster_and_outlive_the_broker() -> None:
    listed = AclCreation(TOPIC, "t", LITERAL, "User:bob", "*", READ, ALLOW)
    everything = DescribeAclsRequest(1, None, 1, None, None, 1, 1)
    made = World()
    (refused,) = made.ask(CreateAclsRequest([listed]), 3).results
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert refused.error_message == "Request CreateAcls needs ALTER permission."
    made.who = "User:admin"
    assert [result.error_code for result in made.ask(CreateAclsRequest([listed, listed]), 3).results] == [0, 0]
    made.restart(kill=True)
    assert len(made.ask(everything, 3).resources[0].acls) == 1
    made.who = "User:bob"
    assert made.ask(MetadataRequest([MetadataRequestTopic(name="t")]), 12).topics[0].error_code == 0
    made.who = "User:admin"
    filters = [DeleteAclsFilter(TOPIC, None, 1, None, None, 1, 1), DeleteAclsFilter(99, None, 1, None, None, 1, 1)]
    gone, bad = made.ask(DeleteAclsRequest(filters), 3).filter_results
    assert [acl.principal for acl in gone.matching_acls] == ["User:bob"]
    assert bad.error_code == ErrorCode.INVALID_REQUEST
    assert made.ask(everything, 3).resources == []


def test_what_only_a_filter_may_say_is_answered_as_kafka_does() -> None:
    made = World()
    made.who = "User:admin"
    odd = AclCreation(1, "t", LITERAL, "User:bob", "*", READ, ALLOW)
    (answer,) = made.ask(CreateAclsRequest([odd]), 3).results
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    with pytest.raises(CloseConnection):
        made.ask(CreateAclsRequest([AclCreation(0, "t", LITERAL, "User:bob", "*", READ, ALLOW)]), 3)


def test_of_many_groups_the_denied_are_taken_out() -> None:
    world = World()
    world.allow((GROUP, "mine-1", DELETE), (GROUP, "mine-2", DELETE))
    names = ["other-1", "mine-1", "other-2", "mine-2", "other-1"]
    answer = world.ask(DeleteGroupsRequest(names), 2)
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert sorted((each.group_id, each.error_code == denied) for each in answer.results) == [
        ("mine-1", False),
        ("mine-2", False),
        ("other-1", True),
        ("other-1", True),
        ("other-2", True),
    ]


def test_a_topic_that_is_named_twice_is_refused_for_that_whoever_asks() -> None:
    world = World()
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, 3) for name in ("t", "u", "u")], 1000)
    answer = world.ask(request, 3)
    assert {result.name: result.error_code for result in answer.results} == {
        "t": DENIED,
        "u": ErrorCode.INVALID_REQUEST,
    }
