"""Nobody waits for the disk of the metadata log but who changes the metadata.

The disk is a real one whose syncs of the metadata log end only when the test says so. ``stalls`` counts those that the
loop itself waited for; such a one is let through, so that the test ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pykbroker.storage.disk import File
from pykbroker.storage.real_disk import RealDisk, RealFile
from pykbroker.tests.kit.running import Client, RunningBroker, running_broker, until
from pykbroker.tests.network.test_connection import run
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


class HeldFile(RealFile):
    """A file of the metadata log."""

    def sync(self) -> None:
        disk = self._disk
        assert isinstance(disk, HeldDisk)
        if disk.held:
            disk.waits_for()
        super().sync()


class HeldDisk(RealDisk):
    """See the module."""

    def __init__(self) -> None:
        super().__init__(durable=False)
        self.held = False
        self.stalls = 0
        self.waiting = 0
        self._released = threading.Semaphore(0)

    def open(self, path: str) -> File:
        return HeldFile(self, path) if "__cluster_metadata-0" in path else super().open(path)

    def waits_for(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.stalls += 1
            return
        self.waiting += 1
        self._released.acquire()
        self.waiting -= 1

    def let_through(self) -> None:
        """From here on nothing is held; what waits goes on."""
        self.held = False
        self._released.release(8)


CHANGES: dict[str, tuple[Message, int, type[Message]]] = {
    "a topic is created": (
        CreateTopicsRequest(topics=[CreatableTopic(name="n", num_partitions=1, replication_factor=1)]),
        5,
        CreateTopicsResponse,
    ),
    "a topic is deleted": (DeleteTopicsRequest(topic_names=["t"]), 4, DeleteTopicsResponse),
    "partitions are added": (
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)]),
        1,
        CreatePartitionsResponse,
    ),
    "settings are altered": (
        IncrementalAlterConfigsRequest([AlterConfigsResource(2, "t", [AlterableConfig("retention.ms", 0, "7")])]),
        0,
        IncrementalAlterConfigsResponse,
    ),
    "a quota is set": (
        AlterClientQuotasRequest(
            [AlterClientQuotasRequestEntryData([EntityData("user", "u")], [OpData("producer_byte_rate", 1.0)])]
        ),
        0,
        AlterClientQuotasResponse,
    ),
    "a credential is kept": (
        AlterUserScramCredentialsRequest(upsertions=[ScramCredentialUpsertion("u", 1, 4096, b"salt", b"password")]),
        0,
        AlterUserScramCredentialsResponse,
    ),
    "a broker is forgotten": (UnregisterBrokerRequest(broker_id=1), 0, UnregisterBrokerResponse),
    "the first consumer asks for its coordinator": (FindCoordinatorRequest(key="g"), 2, FindCoordinatorResponse),
    "a producer wants an id": (
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000),
        1,
        InitProducerIdResponse,
    ),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_others_are_served_while_the_metadata_log_is_synced(tmp_path, change):
    request, version, response = CHANGES[change]

    async def check(broker: RunningBroker, disk: HeldDisk, client: Client, other: Client) -> None:
        disk.held = True
        client.send(request, version)
        await client.writer.drain()
        await until(lambda: disk.waiting > 0 or disk.stalls > 0)
        offset = broker.cluster.metadata.image.offset
        await other.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert disk.stalls == 0
        assert broker.cluster.metadata.image.offset == offset
        disk.let_through()
        await client.receive(response, version)
        assert broker.cluster.metadata.image.offset > offset

    run(_with_held_disk(tmp_path, check))


def test_asking_for_a_topic_does_not_wait_for_its_creation(tmp_path):
    """As with Kafka: the answer says that the topic is not there yet, each time until it is, and it is made once."""

    def describe() -> MetadataRequest:
        return MetadataRequest(topics=[MetadataRequestTopic(name="auto")], allow_auto_topic_creation=True)

    async def check(broker: RunningBroker, disk: HeldDisk, client: Client, other: Client) -> None:
        disk.held = True
        for asking in (client, other, client):
            answer = await asking.ask(describe(), 9, MetadataResponse)
            assert [topic.error_code for topic in answer.topics] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        await until(lambda: disk.waiting > 0 or disk.stalls > 0)
        assert disk.stalls == 0
        created = []
        broker.cluster.metadata.subscribe(lambda _, delta: created.append([t.name for t in delta.created_topics]))
        disk.let_through()
        await until(lambda: bool(created))
        answer = await client.ask(describe(), 9, MetadataResponse)
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.NONE]
        assert created == [["auto"]]

    run(_with_held_disk(tmp_path, check))


async def _with_held_disk(
    path: Path, check: Callable[[RunningBroker, HeldDisk, Client, Client], Awaitable[None]]
) -> None:
    disk = HeldDisk()
    async with running_broker(path, {"offsets.topic.num.partitions": "1"}, disk=disk) as broker:
        client, other = await broker.connect(), await broker.connect()
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        await client.ask(CreateTopicsRequest(topics=[topic]), 5, CreateTopicsResponse)
        try:
            await asyncio.wait_for(check(broker, disk, client, other), 60)
        finally:
            disk.let_through()
            client.close()
            other.close()
