"""Frames, order, limits and bad input, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import logging
import struct
import weakref
from pathlib import Path

import pytest

from pykbroker.handlers.contract import CloseConnection
from pykbroker.network.connection import Connection
from pykbroker.network.receive_block import BLOCK, KEPT_BLOCK, ReceiveBlock, shared_block
from pykbroker.process import descriptors
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import tell_when_lost
from pykbroker.tests.kit.cluster import LISTENER, MemoryCluster
from pykbroker.tests.kit.running import running_broker
from pykbroker.tests.kit.running import until as until_true
from pykbroker.tests.network.strangers import Wire
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

ASK = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def produce(value: bytes, acks: int = 1, topic: str = "t") -> ProduceRequest:
    batch = encode_batch([Record(offset=0, timestamp=1_700_000_000_000, key=None, value=value, headers=[])])
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])],
    )


def fetch(offset: int, max_wait_ms: int = 60_000, min_bytes: int = 1, topic: str = "t") -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 24,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)],
            )
        ],
    )


async def create(client, topic: str = "t", **configs: str) -> None:
    answer = await client.ask(
        CreateTopicsRequest(
            topics=[CreatableTopic(name=topic, num_partitions=1, replication_factor=1)], timeout_ms=1000
        ),
        7,
        CreateTopicsResponse,
    )
    assert answer.topics[0].error_code == 0


async def until(client, done) -> None:
    """Turns of the loop, in which ``client`` is served, until ``done`` says so."""
    while not done():
        await client.ask(ASK, 3, ApiVersionsResponse)


def run(test) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_a_frame_may_come_byte_by_byte(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            client.send(ASK, 3)
            await client.receive(ApiVersionsResponse, 3)
            frame = struct.pack(">ihhih", 10, 18, 0, 77, -1)
            for index in range(len(frame)):
                client.writer.write(frame[index : index + 1])
                await client.writer.drain()
            correlation, answer = await client.receive(ApiVersionsResponse, 0)
            assert correlation == 77
            assert answer.error_code == 0
            client.close()

    run(scenario())


def test_halves_of_frames_of_several_clients_are_not_mixed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            bystander, *clients = [await broker.connect() for _ in range(6)]
            frames = [struct.pack(">ihhih", 10, 18, 0, number, -1) for number in range(5)]
            for half in (slice(7), slice(7, None)):
                for client, frame in zip(clients, frames, strict=True):
                    client.writer.write(frame[half])
                await bystander.ask(ASK, 3, ApiVersionsResponse)
            for number, client in enumerate(clients):
                assert (await client.receive(ApiVersionsResponse, 0))[0] == number
                client.close()
            bystander.close()

    run(scenario())


def test_many_frames_at_once_are_answered_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            sent = [client.send(ASK, 3) for _ in range(1000)]
            received = [(await client.receive(ApiVersionsResponse, 3))[0] for _ in sent]
            assert received == sent
            client.close()

    run(scenario())


@pytest.mark.parametrize("size", [BLOCK - 200, BLOCK + 1, KEPT_BLOCK - 500, KEPT_BLOCK + 5])
def test_frames_larger_than_the_block_arrive_whole(tmp_path: Path, size: int) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, {"message.max.bytes": str(4 * KEPT_BLOCK)}) as broker:
            client = await broker.connect()
            await create(client)
            value = bytes(range(256)) * (size // 256 + 1)
            for number in range(3):
                answer = await client.ask(produce(value[:size]), 9, ProduceResponse)
                assert answer.responses[0].partition_responses[0].error_code == 0
                assert answer.responses[0].partition_responses[0].base_offset == number
            fetched = await client.ask(fetch(2), 12, FetchResponse)
            assert value[:size] in bytes(fetched.responses[0].partitions[0].records)
            client.close()

    run(scenario())


def test_a_waiting_request_holds_back_later_answers_but_not_their_work(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client, other = await broker.connect(), await broker.connect()
            await create(client)
            waiting = client.send(fetch(0), 12)
            produced = client.send(produce(b"wakes the fetch before it"), 9)
            first, fetched = await client.receive(FetchResponse, 12)
            second, _ = await client.receive(ProduceResponse, 9)
            assert (first, second) == (waiting, produced)
            assert b"wakes the fetch" in bytes(fetched.responses[0].partitions[0].records)
            client.close()
            other.close()

    run(scenario())


def test_the_end_of_a_partition_is_looked_up_once_what_was_asked_before_is_answered(tmp_path: Path) -> None:
    """A consumer takes the later of two answers for the later end: one from before the records that a Fetch brought is behind its position,
    and Kafka Streams waits for good.
    """

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            consumer, producer = await broker.connect(), await broker.connect()
            await create(producer)
            latest = ListOffsetsTopic("t", [ListOffsetsPartition(0, timestamp=-1)])
            consumer.send(fetch(0), 12)
            consumer.send(ListOffsetsRequest(-1, topics=[latest]), 7)
            consumer.send(ASK, 4)
            producer.send(produce(b"one"), 9)
            _, fetched = await consumer.receive(FetchResponse, 12)
            assert fetched.responses[0].partitions[0].high_watermark == 1
            _, listed = await consumer.receive(ListOffsetsResponse, 7)
            assert listed.topics[0].partitions[0].offset == 1
            _, versions = await consumer.receive(ApiVersionsResponse, 4)
            assert versions.error_code == ErrorCode.NONE
            consumer.close()
            producer.close()

    run(scenario())


def test_acks_0_sends_nothing_and_the_next_answer_is_the_next_requests(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            await create(client)
            client.send(produce(b"silent", acks=0), 9)
            asked = client.send(fetch(0), 12)
            correlation, fetched = await client.receive(FetchResponse, 12)
            assert correlation == asked
            assert b"silent" in bytes(fetched.responses[0].partitions[0].records)
            client.close()

    run(scenario())


def test_an_error_with_acks_0_closes_the_connection(tmp_path: Path, caplog) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, {"auto.create.topics.enable": "false"}) as broker:
            client = await broker.connect()
            client.send(produce(b"nowhere", acks=0, topic="absent"), 9)
            assert await client.closed_by_broker()

    run(scenario())
    assert "UNKNOWN_TOPIC_OR_PARTITION" in caplog.text


def in_memory(world: MemoryCluster, answer) -> tuple[Connection, Wire]:
    """A connection whose frames ``answer`` takes."""
    connection = Connection(world.cluster.brokers[1], world.dispatcher, LISTENER, 1000, shared_block(), lambda _: None)
    connection.answer_by(answer, 1000)
    return connection, Wire(connection)


def test_a_muted_connection_that_ends_is_not_kept_until_it_would_have_been_heard_again() -> None:
    world = MemoryCluster()
    connection, wire = in_memory(world, lambda *_: [b"answer"])
    connection.mute(3_600_000)
    connection.mute(1000)
    wire.receive(struct.pack(">i", 0))
    world.advance(1001)
    assert not wire.sent, "the longer one holds"
    wire.end()
    left = weakref.ref(connection)
    del connection, wire
    assert left() is None


def test_a_muted_connection_is_heard_again_after_the_longest_of_its_times() -> None:
    world = MemoryCluster()
    connection, wire = in_memory(world, lambda *_: [b"answer"])
    for ms in (50, 100, 20):
        connection.mute(ms)
    wire.receive(struct.pack(">i", 0))
    world.advance(99)
    assert not wire.sent
    world.advance(1)
    assert wire.sent == b"answer"


def test_a_connection_that_ends_while_a_request_waits_is_not_kept_for_its_answer() -> None:
    waits: Deferred[list[bytes]] = Deferred()
    abandoned = []
    waits.when_abandoned = lambda: abandoned.append(True)
    connection, wire = in_memory(MemoryCluster(), lambda *_: waits)
    wire.receive(struct.pack(">i", 0))
    wire.end()
    assert abandoned
    left = weakref.ref(connection)
    waits = Deferred()
    gc.disable()
    del connection, wire
    gone = left() is None
    gc.enable()
    assert gone, "even if no garbage is looked for"


def test_who_asks_to_be_told_of_the_end_is_told_once_also_when_the_connection_has_ended() -> None:
    """A request that is worked on in slices, or waits for a thread, outlives its connection."""
    world = MemoryCluster()
    connection, _ = in_memory(world, lambda *_: None)
    told: list[str] = []
    tell_when_lost(connection, "before", lambda: told.append("before"))
    assert told == []
    connection.connection_lost(None)
    assert told == ["before"]
    tell_when_lost(connection, "after", lambda: told.append("after"))
    assert told == ["before", "after"]
    assert connection.when_lost is None


def test_a_request_that_fails_for_good_after_its_client_is_gone_says_nothing(tmp_path: Path, caplog) -> None:
    waits: Deferred[ApiVersionsResponse] = Deferred()

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            broker.node.server.dispatcher.places.fill(Place.INTERCEPT, through(lambda *_: waits))
            client.send(ASK, 3)
            connections = broker.node.server.sockets(1).connections
            await until_true(lambda: any(each._pending.queue for each in connections))
            client.close()
            await until_true(lambda: not connections)
            waits.fail(CloseConnection("nobody is there any more"))

    run(scenario())
    assert "Unhandled error" not in caplog.text


BAD_FRAMES = {
    "negative size": (struct.pack(">i", -1), "announced a frame of -1 bytes"),
    "oversized": (struct.pack(">i", 0x7FFFFFFF), "socket.request.max.bytes"),
    "http": (b"GET / HTTP/1.1\r\n\r\n", "speaks HTTP"),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS handshake"),
    "empty frame": (struct.pack(">i", 0), "malformed"),
    "unknown api": (struct.pack(">ihhih", 10, 9999, 0, 1, -1), "9999"),
    "unsupported version": (struct.pack(">ihhihB", 11, 0, 99, 1, -1, 0), "PRODUCE is not served in version 99"),
    "version before the first": (struct.pack(">ihhih", 10, 1, 0, 1, -1), "FETCH is not served in version 0"),
    "truncated body": (struct.pack(">ihhihi", 14, 3, 1, 1, -1, 5), "malformed"),
    "hostile count": (struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0x7FFFFFFF), "malformed"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_input_ends_its_own_connection_with_one_line(tmp_path: Path, caplog, name: str) -> None:
    data, reason = BAD_FRAMES[name]

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            bystander = await broker.connect()
            await bystander.ask(ASK, 3, ApiVersionsResponse)
            bad = await broker.connect()
            bad.writer.write(data)
            assert await bad.closed_by_broker()
            assert (await bystander.ask(ASK, 3, ApiVersionsResponse)).error_code == 0
            bystander.close()

    with caplog.at_level(logging.WARNING):
        run(scenario())
    lines = [record for record in caplog.records if record.name == "pykbroker.network.connection"]
    assert len(lines) == 1
    assert reason in lines[0].getMessage()


def test_what_was_answered_is_sent_before_a_bad_frame_ends_the_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            sent = client.send(ASK, 3)
            client.writer.write(BAD_FRAMES["truncated body"][0])
            assert (await client.receive(ApiVersionsResponse, 3))[0] == sent
            assert await client.closed_by_broker()

    run(scenario())


def test_a_later_version_of_api_versions_is_answered_in_version_0(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            client.writer.write(struct.pack(">ihhihB", 11, 18, 999, 5, -1, 0))
            correlation, answer = await client.receive(ApiVersionsResponse, 0)
            assert correlation == 5
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert {key.api_key for key in answer.api_keys} >= {0, 1, 3, 18}
            assert (await client.ask(ASK, 4, ApiVersionsResponse)).error_code == 0
            client.close()

    run(scenario())


def test_a_client_id_may_be_any_bytes(tmp_path: Path) -> None:
    """Kafka reads what is not UTF-8 as replacement characters."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            client.writer.write(struct.pack(">ihhih", 14, 18, 0, 7, 4) + b"\xe9t\xe9!")
            correlation, answer = await client.receive(ApiVersionsResponse, 0)
            assert (correlation, answer.error_code) == (7, 0)
            client.close()

    run(scenario())


def test_what_is_due_happens_before_the_requests_of_the_same_turn(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, clock=clock) as broker:
            client = await broker.connect()
            await client.ask(ASK, 3, ApiVersionsResponse)
            fired = []
            broker.cluster.runtime.timers.after(60_000, lambda: fired.append("first"))
            broker.cluster.runtime.timers.after(60_001, lambda: fired.append("later"))
            clock.advance(60_000)  # the loop's own timer is not yet due
            await client.ask(ASK, 3, ApiVersionsResponse)
            assert fired == ["first"]
            client.close()

    run(scenario())


def test_who_is_muted_twice_waits_for_the_longer_of_both(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, clock=clock) as broker:
            client = await broker.connect()
            await client.ask(ASK, 3, ApiVersionsResponse)
            (connection,) = broker.node.server._sockets[1].connections
            taken_up = []
            for ms in (10, 30):
                connection.mute(ms)
            for ms in (10, 20):
                clock.advance(ms)
                broker.cluster.runtime.timers.run_due()
                broker.cluster.runtime.client_timers.run_due()
                taken_up.append(not connection._reading_paused)
            assert taken_up == [False, True]
            await client.ask(ASK, 3, ApiVersionsResponse)
            client.close()

    run(scenario())


def test_what_becomes_due_in_a_turn_does_not_wait_for_its_end(tmp_path: Path, monkeypatch) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, clock=clock) as broker:
            events = []

            def handle_frame(*_) -> None:
                events.append("frame")
                clock.advance(1)

            broker.cluster.runtime.timers.after(2, lambda: events.append("timer"))
            monkeypatch.setattr("pykbroker.requests.dispatcher.Dispatcher.answer", handle_frame)
            client = await broker.connect()
            client.writer.write(struct.pack(">i", 0) * 4)
            await until_true(lambda: events.count("frame") == 4)
            assert events == ["frame", "frame", "timer", "frame", "frame"]
            client.close()

    run(scenario())


def test_a_client_that_takes_nothing_does_not_fill_the_memory(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            await create(client)
            await client.ask(produce(b"x" * 900_000), 9, ProduceResponse)
            for _ in range(200):
                client.send(fetch(0), 12)
            other = await broker.connect()
            for _ in range(20):
                await other.ask(ASK, 3, ApiVersionsResponse)  # the others are served meanwhile
            for _ in range(200):
                _, answer = await client.receive(FetchResponse, 12)
                assert len(answer.responses[0].partitions[0].records) > 900_000
            client.close()
            other.close()

    run(scenario())


def test_answers_behind_one_that_waits_do_not_fill_the_memory(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client, other = await broker.connect(), await broker.connect()
            await create(client)
            await create(client, "empty")
            await client.ask(produce(b"x" * 900_000), 9, ProduceResponse)
            client.send(fetch(0, topic="empty"), 12)
            for _ in range(100):
                client.send(fetch(0), 12)
            await until(other, lambda: broker.cluster.runtime.memory.unsent.held)
            for _ in range(20):
                await other.ask(ASK, 3, ApiVersionsResponse)
            assert broker.cluster.runtime.memory.unsent.held < 3_000_000
            await other.ask(produce(b"wakes", topic="empty"), 9, ProduceResponse)
            for _ in range(101):
                await client.receive(FetchResponse, 12)
            assert broker.cluster.runtime.memory.unsent.held == 0
            client.close()
            other.close()

    run(scenario())


def test_while_memory_is_short_answers_stay_in_their_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            await create(client)
            for _ in range(20):
                await client.ask(produce(b"x" * 100_000), 9, ProduceResponse)
            memory = broker.cluster.runtime.memory
            memory.limit = 1 << 26
            assert memory.answer_bytes(1 << 20, 1 << 14) == 1 << 20
            memory.unsent.count(1 << 30)
            assert memory.answer_bytes(1 << 20, 1 << 14) == 1 << 14
            answer = await client.ask(fetch(0), 12, FetchResponse)
            assert len(answer.responses[0].partitions[0].records) > 2_000_000
            client.close()

    run(scenario())


def test_what_a_lost_client_did_not_take_is_forgotten(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client, other = await broker.connect(), await broker.connect()
            await create(client)
            await client.ask(produce(b"x" * 900_000), 9, ProduceResponse)
            for _ in range(50):
                client.send(fetch(0), 12)
            await until(other, lambda: broker.cluster.runtime.memory.unsent.held)
            client.writer.transport.abort()
            await until(other, lambda: not broker.cluster.runtime.memory.unsent.held)
            other.close()

    run(scenario())


def test_a_client_with_much_to_do_lets_others_have_their_turn(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pykbroker.network.connection._TURN_S", 0.0)

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            busy, other = await broker.connect(), await broker.connect()
            for client in (busy, other):
                await client.ask(ASK, 3, ApiVersionsResponse)
            answered = []

            async def receive(client, count: int, name: str) -> None:
                for _ in range(count):
                    await client.receive(ApiVersionsResponse, 3)
                    answered.append(name)

            for _ in range(500):
                busy.send(ASK, 3)
            other.send(ASK, 3)
            await asyncio.gather(receive(busy, 500, "busy"), receive(other, 1, "other"))
            assert answered.index("other") < 250
            busy.close()
            other.close()

    run(scenario())


def test_an_idle_connection_keeps_no_block_of_its_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pykbroker.network.server._IDLE_CHECK_MS", 20)
    blocks = []
    let_go = ReceiveBlock.let_go

    def watched(self: ReceiveBlock) -> None:
        before = len(self.view)
        let_go(self)
        blocks.append((before, len(self.view)))

    monkeypatch.setattr(ReceiveBlock, "let_go", watched)

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            await create(client)
            await client.ask(produce(b"x" * 900_000), 9, ProduceResponse)
            other = await broker.connect()
            await until(other, lambda: (1 << 20, BLOCK) in blocks)
            await client.ask(produce(b"x" * 900_000), 9, ProduceResponse)
            client.close()
            other.close()

    run(scenario())


def test_a_connection_too_many_is_closed_and_said_once(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(descriptors, "allowed", lambda: descriptors.Descriptors(files=100, connections=2))

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            first, second = await broker.connect(), await broker.connect()
            for client in (first, second):
                await client.ask(ASK, 3, ApiVersionsResponse)
            for _ in range(2):
                assert await (await broker.connect()).closed_by_broker()
            second.close()
            while True:
                third = await broker.connect()
                third.send(ASK, 3)
                try:
                    await third.receive(ApiVersionsResponse, 3)
                except asyncio.IncompleteReadError:  # the broker has not heard yet that the second is gone
                    third.close()
                else:
                    break
            await first.ask(ASK, 3, ApiVersionsResponse)
            first.close()
            third.close()

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert [record.name for record in caplog.records].count("pykbroker.network.server") == 1


def test_idle_connections_are_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, {"connections.max.idle.ms": "50000"}, clock=clock) as broker:
            idle, busy = await broker.connect(), await broker.connect()
            await idle.ask(ASK, 3, ApiVersionsResponse)
            clock.advance(45_000)
            await busy.ask(ASK, 3, ApiVersionsResponse)
            clock.advance(15_000)
            broker.cluster.runtime.timers.run_due()
            assert await idle.closed_by_broker()
            await busy.ask(ASK, 3, ApiVersionsResponse)
            busy.close()

    run(scenario())


def test_metadata_names_the_listener_the_request_came_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            answer = await client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
            told = {node.node_id: f"{node.host}:{node.port}" for node in answer.brokers}
            assert told == broker.node.addresses()
            client.close()

    run(scenario())


def test_one_that_is_cut_before_it_has_its_socket_never_lives() -> None:
    """As one that is accepted in the very turn in which its brokers end."""
    world = MemoryCluster()
    gone: list[Connection] = []
    connection = Connection(
        world.cluster.brokers[1], world.dispatcher, "PLAINTEXT", 1 << 20, shared_block(), gone.append
    )
    connection.cut()
    wire = Wire(connection)
    assert wire.is_closed
    wire.end()
    assert gone == [connection]
