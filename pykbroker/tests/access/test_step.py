"""A broker with an authorizer, asked by who has some of the rights: what is carried out, and what is told of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pykbroker.access.step import authorise
from pykbroker.controller.topics import NewTopic
from pykbroker.security.acl import ALLOW, Acl, AclFilter
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import ALTER, CREATE, DESCRIBE, READ, WRITE
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, LITERAL, TOPIC
from pykbroker.tests.running import Client, RunningBroker, ended, running_broker
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

SETTINGS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
    "auto.create.topics.enable": "true",
}
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
BATCH = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"v", headers=[])])


class World:
    """A broker, a connection of somebody without rights (``who`` may be changed), and topics t and u."""

    def __init__(self, broker: RunningBroker, client: Client) -> None:
        self.broker = broker
        self.client = client
        self.who = "User:alice"

    async def ask(self, request: Any, version: int) -> Any:
        return await self.client.ask(request, version, response_class(request.API_KEY))

    async def allow(self, *rights: tuple[int, str, int], who: str = "User:alice") -> None:
        acls = [Acl(kind, name, LITERAL, who, "*", operation, ALLOW) for kind, name, operation in rights]
        assert await ended(self.broker.cluster.controller.create_acls(acls)) == [None] * len(acls)

    async def deny_all(self) -> None:
        await ended(self.broker.cluster.controller.delete_acls([AclFilter()]))

    def as_who(self, _broker: Any, ctx: Any, _request: Any, proceed: Callable[[], Any]) -> Any:
        ctx.principal = self.who
        return proceed()


@asynccontextmanager
async def world(directory: Path) -> AsyncIterator[World]:
    async with running_broker(directory, SETTINGS) as broker:
        made = World(broker, await broker.connect())
        broker.server.dispatcher.add_inner_step(authorise)
        broker.server.dispatcher.add_step(made.as_who)
        topics = [NewTopic(name, 1, 1) for name in ("t", "u")]
        await ended(broker.cluster.controller.create_topics(topics))
        yield made
        made.client.close()


def in_world(tmp_path: Path, test: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        async with world(tmp_path) as made:
            await test(made)

    asyncio.run(run())


def written(*topics: str, acks: int = -1) -> ProduceRequest:
    data = [TopicProduceData(name=name, partition_data=[PartitionProduceData(0, BATCH)]) for name in topics]
    return ProduceRequest(None, acks, 1000, data)


def test_what_is_denied_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "t", WRITE))
        answer = await made.ask(written("t", "u", "missing"), 9)
        codes = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
        assert codes == {"t": 0, "u": DENIED, "missing": DENIED}
        log = made.broker.cluster.partition("t", 0)
        assert log is not None
        assert log.log_end_offset == 1

    in_world(tmp_path, test)


def test_a_producer_that_wants_no_answer_is_told_by_the_end_of_its_connection(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "t", WRITE))
        made.client.send(written("t", acks=0), 9)
        await made.ask(written("t"), 9)
        made.client.send(written("t", "u", acks=0), 9)
        assert await made.client.closed_by_broker()

    in_world(tmp_path, test)


def test_a_session_is_told_when_a_right_is_gone_though_nothing_was_written(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "t", READ))
        topics = [FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=1000)])]
        opened = await made.ask(FetchRequest(max_wait_ms=0, session_epoch=0, topics=topics, max_bytes=1000), 12)
        assert opened.responses[0].partitions[0].error_code == 0

        async def again(epoch: int) -> list[int]:
            answer = await made.ask(FetchRequest(session_id=opened.session_id, session_epoch=epoch, max_wait_ms=0), 12)
            return [partition.error_code for topic in answer.responses for partition in topic.partitions]

        assert await again(1) == []
        await made.deny_all()
        assert await again(2) == [DENIED]
        await made.allow((TOPIC, "t", READ))
        assert await again(3) == [0]

    in_world(tmp_path, test)


def test_topics_are_hidden_from_who_may_not_describe_them(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "t", READ))
        for _ in range(2):  # the second time from what is kept for whoever asks the same
            everything = await made.ask(MetadataRequest(None), 12)
            assert [topic.name for topic in everything.topics] == ["t"]
        by_name = await made.ask(MetadataRequest([MetadataRequestTopic(name=name) for name in ("u", "missing")]), 12)
        assert [(topic.error_code, topic.topic_id) for topic in by_name.topics] == [(DENIED, bytes(16))] * 2
        made.who = "User:admin"
        assert len((await made.ask(MetadataRequest(None), 12)).topics) == 2

    in_world(tmp_path, test)


def test_a_topic_is_made_by_asking_only_for_who_may_make_it(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "new", DESCRIBE))
        asked = MetadataRequest([MetadataRequestTopic(name="new")], True)
        assert (await made.ask(asked, 12)).topics[0].error_code == DENIED
        assert made.broker.cluster.metadata.image.topic("new") is None
        await made.allow((TOPIC, "new", CREATE))
        assert (await made.ask(asked, 12)).topics[0].error_code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    in_world(tmp_path, test)


def test_operations_that_are_allowed_are_told(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        assert (await made.ask(DescribeClusterRequest(True), 1)).cluster_authorized_operations == 0
        await made.allow((CLUSTER, CLUSTER_NAME, ALTER))
        answer = await made.ask(DescribeClusterRequest(True), 1)
        assert answer.cluster_authorized_operations == 1 << ALTER | 1 << DESCRIBE

    in_world(tmp_path, test)


def test_groups_are_hidden(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        assert (await made.ask(ListGroupsRequest(), 4)).groups == []
        await made.allow((GROUP, "g", DESCRIBE))
        assert (await made.ask(ListGroupsRequest(), 4)).error_code == 0

    in_world(tmp_path, test)


def test_a_topic_that_may_be_made_but_not_described_is_answered_without_its_settings(tmp_path: Path) -> None:
    async def test(made: World) -> None:
        await made.allow((TOPIC, "new", CREATE))
        topics = [CreatableTopic(name, 3, 1) for name in ("new", "other")]
        answer = await made.ask(CreateTopicsRequest(topics, 1000), 7)
        new, other = sorted(answer.topics, key=lambda topic: topic.name)
        assert (new.error_code, new.topic_config_error_code, new.num_partitions) == (0, DENIED, -1)
        assert (other.error_code, other.error_message) == (DENIED, "Authorization failed.")

    in_world(tmp_path, test)


def test_access_lists_are_for_who_may_alter_the_cluster_and_outlive_the_broker(tmp_path: Path) -> None:
    listed = AclCreation(TOPIC, "t", LITERAL, "User:bob", "*", READ, ALLOW)
    everything = DescribeAclsRequest(1, None, 1, None, None, 1, 1)

    async def create(made: World) -> None:
        (refused,) = (await made.ask(CreateAclsRequest([listed]), 3)).results
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert refused.error_message == "Request CreateAcls needs ALTER permission."
        made.who = "User:admin"
        created = await made.ask(CreateAclsRequest([listed, listed]), 3)
        assert [result.error_code for result in created.results] == [0, 0]

    async def delete(made: World) -> None:
        made.who = "User:admin"
        assert len((await made.ask(everything, 3)).resources[0].acls) == 1
        filters = [DeleteAclsFilter(TOPIC, None, 1, None, None, 1, 1), DeleteAclsFilter(99, None, 1, None, None, 1, 1)]
        gone, bad = (await made.ask(DeleteAclsRequest(filters), 3)).filter_results
        assert [acl.principal for acl in gone.matching_acls] == ["User:bob"]
        assert bad.error_code == ErrorCode.INVALID_REQUEST
        assert (await made.ask(everything, 3)).resources == []

    in_world(tmp_path, create)
    in_world(tmp_path, delete)
