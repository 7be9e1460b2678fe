"""Clients of raw requests in a world that never rest: they ask whatever a client may ask, also what is stale by now, and go on after any answer.

They look for leaders and coordinators as real clients do, a while after they have moved, and now and then ask with an epoch, generation
or offset that is not the present one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from pykbroker.tests.kit.running import Client
from pykbroker.wire.apis import response_class
from pykbroker.wire.message import Message
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.records import Record, encode_batch
from pykbroker.worlds import World

TOPIC: Final = "orders"
PARTITIONS: Final = 2
GROUP, TRANSACTION = 0, 1
BROKERS: Final = 3
SESSION_MS: Final = 3000
#: To nothing, by version 0 of ConsumerProtocolSubscription.
SUBSCRIPTION: Final = bytes(2) + bytes(4) + b"\xff" * 4
_FIRST_PORT: Final = 9092
_MEMBER_ID_REQUIRED: Final = 79


class Restless:
    """What one client knows, and how it asks."""

    def __init__(self, rng: Random, name: str) -> None:
        self.rng = rng
        self._name = name
        self._connections: dict[int, Client] = {}
        #: Leaders and their epochs, by partition, as far as is known.
        self.leaders: dict[int, tuple[int, int]] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    async def ask(self, broker: int, request: Message, version: int) -> Any:
        """The answer of a broker. Raises OSError or EOFError, after which the next request has another connection."""
        try:
            client = self._connections.get(broker)
            if client is None:
                streams = await asyncio.open_connection("kafka", _FIRST_PORT + broker - 1)
                client = self._connections[broker] = Client(*streams, client_id=self._name)
            async with asyncio.timeout(10):
                return await client.ask(request, version, response_class(request.API_KEY))
        except (OSError, EOFError):
            if gone := self._connections.pop(broker, None):
                gone.close()
            self._coordinators.clear()
            self.leaders.clear()
            raise

    def any_broker(self) -> int:
        return self.rng.randint(1, BROKERS)

    async def leader(self, partition: int) -> tuple[int, int]:
        """The leader of a partition and its epoch, by metadata that may be old. Raises LookupError."""
        if partition not in self.leaders:
            answer = await self.ask(self.any_broker(), MetadataRequest([MetadataRequestTopic(name=TOPIC)], False), 12)
            for topic in answer.topics:
                for each in topic.partitions:
                    if each.leader_id > 0:
                        self.leaders[each.partition_index] = each.leader_id, each.leader_epoch
        return self.leaders[partition]

    def refused(self, partition: int) -> None:
        """Ask for metadata before the next request, or a while later, as who has many in flight."""
        if self.rng.random() < 0.7:
            self.leaders.pop(partition, None)

    async def coordinated(self, kind: int, key: str, request: Message, version: int) -> Any:
        """The answer of a coordinator, as far as it is known who that is. Raises LookupError."""
        if (kind, key) not in self._coordinators:
            answer = await self.ask(self.any_broker(), FindCoordinatorRequest(key, kind), 3)
            if answer.error_code:
                raise LookupError(key)
            self._coordinators[kind, key] = answer.node_id
        if self.rng.random() < 0.05:
            self._coordinators[kind, key] = self.any_broker()
        answer = await self.ask(self._coordinators[kind, key], request, version)
        if getattr(answer, "error_code", 0) in (14, 15, 16) and self.rng.random() < 0.7:
            del self._coordinators[kind, key]
        return answer

    def nearly(self, value: int) -> int:
        """The value, or rarely another one."""
        return value if self.rng.random() > 0.06 else max(0, value + self.rng.choice((-1, 1, 7)))


async def for_ever(step: Callable[[], Awaitable[None]]) -> None:
    """One step after the other, whatever becomes of each."""
    while True:
        with contextlib.suppress(OSError, EOFError, LookupError):
            await step()
        await asyncio.sleep(0.02)


async def reading(rng: Random, name: str) -> None:
    """Fetches, and asks where logs begin and end."""
    client, offsets = Restless(rng, name), dict.fromkeys(range(PARTITIONS), 0)

    async def step() -> None:
        partition = rng.randrange(PARTITIONS)
        leader, epoch = await client.leader(partition)
        if rng.random() < 0.2:
            which = rng.choice((-1, -2))
            ends = ListOffsetsRequest(
                -1, rng.choice((0, 1)), [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(partition, epoch, which)])]
            )
            found = (await client.ask(leader, ends, 7)).topics[0].partitions[0]
            if not found.error_code:
                offsets[partition] = found.offset
        else:
            asked = FetchPartition(partition, client.nearly(epoch), client.nearly(offsets[partition]), -1, -1, 1 << 20)
            fetch = FetchRequest(replica_id=-1, max_wait_ms=rng.choice((0, 100)), min_bytes=1, max_bytes=1 << 20, session_epoch=-1,
                                 isolation_level=rng.choice((0, 1)), topics=[FetchTopic(TOPIC, partitions=[asked])])  # fmt: skip
            found = (await client.ask(leader, fetch, 12)).responses[0].partitions[0]
            if not found.error_code and found.records:
                offsets[partition] = max(offsets[partition] + 1, found.high_watermark - rng.randint(0, 3))
        if found.error_code:
            client.refused(partition)

    await for_ever(step)


async def writing(rng: Random, name: str) -> None:
    """An idempotent producer that repeats what was not answered."""
    client, state = Restless(rng, name), {"id": -1, "epoch": -1}
    sequences: dict[int, int] = {}

    async def step() -> None:
        if state["id"] < 0 or rng.random() < 0.02:
            made = await client.ask(client.any_broker(), InitProducerIdRequest(None, 60_000), 4)
            if made.error_code:
                return
            state["id"], state["epoch"] = made.producer_id, made.producer_epoch
            sequences.clear()
        partition = rng.randrange(PARTITIONS)
        leader, _ = await client.leader(partition)
        sequence = sequences.get(partition, 0)
        batch = encode_batch([Record(value=b"%d" % sequence)], producer_id=state["id"], producer_epoch=state["epoch"],
                             base_sequence=client.nearly(sequence))  # fmt: skip
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])
        found = (
            (await client.ask(leader, ProduceRequest(None, -1, 3000, [data]), 9)).responses[0].partition_responses[0]
        )
        if found.error_code:
            client.refused(partition)
        else:
            sequences[partition] = sequence + 1

    await for_ever(step)


async def transacting(rng: Random, name: str) -> None:
    """One transaction after the other, with offsets of a group, as clients of before KIP-890 do them."""
    client, group = Restless(rng, name), f"of {name}"
    state = {"id": -1, "epoch": -1}

    async def begin() -> None:
        made = await client.coordinated(TRANSACTION, name, InitProducerIdRequest(name, 4000), 4)
        if made.error_code:
            raise LookupError
        state["id"], state["epoch"] = made.producer_id, made.producer_epoch

    async def step() -> None:
        if state["id"] < 0 or rng.random() < 0.05:
            await begin()
        try:
            who = {"producer_id": state["id"], "producer_epoch": client.nearly(state["epoch"])}
            partition = rng.randrange(PARTITIONS)
            adds = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name, v3_and_below_producer_id=who["producer_id"],
                v3_and_below_producer_epoch=who["producer_epoch"], v3_and_below_topics=[AddPartitionsToTxnTopic(TOPIC, [partition])],
            )  # fmt: skip
            answer = await client.coordinated(TRANSACTION, name, adds, 3)
            added = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            if added in (0, 16):
                leader, _ = await client.leader(partition)
                batch = encode_batch([Record(value=b"t")], transactional=True, base_sequence=0, **who)
                data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])
                await client.ask(leader, ProduceRequest(name, -1, 3000, [data]), 9)
            await client.coordinated(TRANSACTION, name, AddOffsetsToTxnRequest(name, *who.values(), group), 3)
            position = TxnOffsetCommitRequestTopic(TOPIC, partitions=[TxnOffsetCommitRequestPartition(partition, 7)])
            await client.coordinated(
                GROUP, group, TxnOffsetCommitRequest(name, group, *who.values(), topics=[position]), 3
            )
            await client.coordinated(TRANSACTION, name, EndTxnRequest(name, *who.values(), rng.random() < 0.6), 3)
        finally:
            await begin()

    await for_ever(step)


async def joining(rng: Random, name: str) -> None:
    """A member of a classic group."""
    client, group = Restless(rng, name), "classic"
    state: dict[str, Any] = {"member": "", "generation": -1}

    async def join() -> None:
        protocols = [JoinGroupRequestProtocol("range", SUBSCRIPTION)]
        asked = JoinGroupRequest(
            group, SESSION_MS, 3000, state["member"], protocol_type="consumer", protocols=protocols
        )
        answer = await client.coordinated(GROUP, group, asked, 4)
        if answer.error_code:
            state["member"] = answer.member_id if answer.error_code == _MEMBER_ID_REQUIRED else ""
            return
        state["member"], state["generation"] = answer.member_id, answer.generation_id
        given = [SyncGroupRequestAssignment(each.member_id, b"") for each in answer.members]
        await client.coordinated(
            GROUP, group, SyncGroupRequest(group, answer.generation_id, answer.member_id, assignments=given), 3
        )

    async def step() -> None:
        if state["generation"] < 0:
            await join()
            return
        drawn, who = rng.random(), (client.nearly(state["generation"]), state["member"])
        if drawn < 0.5:
            answer = await client.coordinated(GROUP, group, HeartbeatRequest(group, *who), 3)
        elif drawn < 0.8:
            position = OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, 5)])
            answer = await client.coordinated(GROUP, group, OffsetCommitRequest(group, *who, topics=[position]), 7)
            answer = answer.topics[0].partitions[0]
        elif drawn < 0.95:
            answer = await client.coordinated(
                GROUP, group, OffsetFetchRequest(group, [OffsetFetchRequestTopic(TOPIC, [0])]), 5
            )
        else:
            answer = await client.coordinated(
                GROUP, group, LeaveGroupRequest(group, members=[MemberIdentity(who[1])]), 3
            )
            state["member"], state["generation"] = "", -1
        if answer.error_code:
            state["generation"] = -1
        await asyncio.sleep(0.1)

    await for_ever(step)


async def heartbeating(rng: Random, name: str) -> None:
    """A member of a group of the new protocol."""
    client, group, member = Restless(rng, name), "consumer", f"{rng.getrandbits(128):032x}"
    state = {"epoch": 0}

    async def step() -> None:
        epoch = -1 if rng.random() < 0.02 else state["epoch"] and client.nearly(state["epoch"])
        whole: dict[str, Any] = {"topic_partitions": []} if not epoch else {}
        asked = ConsumerGroupHeartbeatRequest(
            group, member, epoch, rebalance_timeout_ms=3000, subscribed_topic_names=[TOPIC], **whole
        )
        answer = await client.coordinated(GROUP, group, asked, 1)
        if answer.error_code:
            state["epoch"] = 0
        else:
            state["epoch"] = max(0, answer.member_epoch)
        if state["epoch"] and rng.random() < 0.3:
            position = OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, 5)])
            await client.coordinated(
                GROUP, group, OffsetCommitRequest(group, client.nearly(state["epoch"]), member, topics=[position]), 9
            )
        await asyncio.sleep(0.1)

    await for_ever(step)


def begin(world: World) -> None:
    """Start two of each kind, each on a host of its own."""
    for program in (reading, writing, transacting, joining, heartbeating):
        for number in range(2):
            name = f"{program.__name__}-{number}"
            world.host(program, Random(world.random.random()), name, name=name)
