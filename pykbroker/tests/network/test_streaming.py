"""Large answers leave their records in the files: what clients do not take costs no memory, and holds up nobody."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.network import streaming
from pykbroker.runtime.clock import ManualClock
from pykbroker.simulation.colddisk import ColdDisk
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.tests.kit.running import Client, RunningBroker, running_broker, until
from pykbroker.tests.network.test_connection import ASK, create, fetch, produce, run
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.api_versions import ApiVersionsResponse
from pykbroker.wire.messages.fetch import FetchRequest, FetchResponse
from pykbroker.wire.messages.produce import ProduceResponse

#: Of records, in one partition.
_MEGABYTES = 24


async def filled(broker: RunningBroker) -> Client:
    """A client, and a topic with records."""
    client = await broker.connect()
    await create(client)
    for number in range(_MEGABYTES):
        await client.ask(produce(bytes([number]) * 1_000_000), 9, ProduceResponse)
    return client


def fetch_all(offset: int = 0) -> FetchRequest:
    asked = fetch(offset)
    asked.max_bytes = asked.topics[0].partitions[0].partition_max_bytes = 50_000_000
    return asked


def records(answer: FetchResponse) -> bytes:
    return bytes(answer.responses[0].partitions[0].records)


def test_clients_that_take_nothing_cost_little_and_take_nothing_from_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            good = await filled(broker)
            stored = broker.cluster.partition("t", 0).log.size_bytes
            dead = [await broker.connect() for _ in range(6)]
            for client in dead:
                client.reader._transport.pause_reading()
                for _ in range(3):
                    client.send(fetch_all(), 12)
            sockets = broker.server.sockets(1)
            await until(lambda: sum(each._outgoing.is_paused for each in sockets.connections) == 6)
            for _ in range(3):
                assert len(records(await good.ask(fetch_all(), 12, FetchResponse))) == stored
            assert broker.cluster.runtime.memory.unsent.held < 6 * 2 * 1024 * 1024
            buffered = sum(each._socket.get_write_buffer_size() for each in sockets.connections)
            assert buffered < 6 * 2 * 1024 * 1024
            for client in (*dead, good):
                client.writer.transport.abort()

    run(scenario())


def test_a_client_that_takes_nothing_is_cut_when_it_was_idle_for_too_long(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, {"connections.max.idle.ms": "50000"}, clock=clock) as broker:
            dead = await filled(broker)
            dead.reader._transport.pause_reading()
            dead.send(fetch_all(), 12)
            connections = broker.server.sockets(1).connections
            await until(lambda: any(each._outgoing.is_paused for each in connections))
            clock.advance(60_000)
            broker.cluster.runtime.timers.run_due()
            await until(lambda: not connections)
            assert broker.cluster.runtime.memory.unsent.held == 0
            dead.writer.transport.abort()

    run(scenario())


def test_others_have_their_turns_while_a_large_answer_is_sent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            large, small = await filled(broker), await broker.connect()
            await small.ask(ASK, 3, ApiVersionsResponse)
            broker.cluster.runtime.turns.measure()
            turns = broker.cluster.runtime.turns.count
            large.send(fetch_all(), 12)
            small.send(ASK, 3)
            order: list[str] = []

            async def receive(client: Client, response: type, version: int, name: str) -> None:
                await client.receive(response, version)
                order.append(name)

            await asyncio.gather(
                receive(large, FetchResponse, 12, "large"), receive(small, ApiVersionsResponse, 3, "small")
            )
            assert order == ["small", "large"]
            assert broker.cluster.runtime.turns.count - turns > _MEGABYTES * 1_000_000 // streaming._SLICE
            for client in (large, small):
                client.close()

    run(scenario())


def test_answers_behind_a_large_one_keep_their_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await filled(broker)
            sent = []
            for number in range(4):
                sent += [client.send(fetch_all(number), 12), client.send(ASK, 3)]
            for number, (large, small) in enumerate(zip(sent[::2], sent[1::2], strict=True)):
                correlation, answer = await client.receive(FetchResponse, 12)
                assert correlation == large
                whole = broker.cluster.partition("t", 0).log.plan_read(number, 50_000_000).read()
                assert records(answer) == bytes(whole)
                assert (await client.receive(ApiVersionsResponse, 3))[0] == small
            client.close()

    run(scenario())


def test_what_is_cold_is_read_in_a_thread(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk = ColdDisk()
        async with running_broker(tmp_path, disk=disk) as broker:
            client = await filled(broker)
            stored = broker.cluster.partition("t", 0).log.size_bytes
            disk.chill()
            assert len(records(await client.ask(fetch_all(), 12, FetchResponse))) == stored
            assert not disk.stalls
            client.close()

    run(scenario())


@pytest.mark.parametrize("cold", [False, True])
def test_records_that_cannot_be_read_any_more_end_the_connection(tmp_path: Path, monkeypatch, caplog, cold) -> None:
    def gone(*_) -> bytes:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "A segment of t-0 is gone.")

    monkeypatch.setattr(StoredRecords, "slice_now", (lambda *_: None) if cold else gone)
    monkeypatch.setattr(StoredRecords, "slice", gone)

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await filled(broker)
            client.send(fetch_all(), 12)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await client.receive(FetchResponse, 12)
            await until(lambda: not broker.server.sockets(1).connections)
            client.close()

    run(scenario())
    assert "A segment of t-0 is gone" in caplog.text


def test_a_connection_that_ends_while_a_large_answer_is_sent_sends_it_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await filled(broker)
            client.send(fetch_all(), 12)
            connections = broker.server.sockets(1).connections
            await until(lambda: any(each._outgoing.is_streaming for each in connections))
            for connection in list(connections):
                connection.finish()
            _, answer = await client.receive(FetchResponse, 12)
            assert len(records(answer)) == broker.cluster.partition("t", 0).log.size_bytes
            assert await client.closed_by_broker()

    run(scenario())


def test_a_log_that_is_moved_while_a_large_answer_is_sent_is_read_to_its_end_where_it_was(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in ("one", "other")]

    async def scenario() -> None:
        async with running_broker(tmp_path, {"log.dirs": ",".join(directories)}) as broker:
            client, other = await filled(broker), await broker.connect()
            partition = broker.cluster.partition("t", 0)
            whole = bytes(partition.log.plan_read(0, 50_000_000).read())
            (target,) = (each for each in directories if each != str(partition.log.directory.path))
            client.reader._transport.pause_reading()
            client.send(fetch_all(), 12)
            await until(lambda: any(each._outgoing.is_paused for each in broker.server.sockets(1).connections))
            there = AlterReplicaLogDir(target, [AlterReplicaLogDirTopic("t", [0])])
            answer = await other.ask(AlterReplicaLogDirsRequest([there]), 2, AlterReplicaLogDirsResponse)
            assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
            await until(lambda: str(partition.log.directory.path) == target)
            await other.ask(produce(b"after the move"), 9, ProduceResponse)
            assert any(
                each._outgoing.is_paused for each in broker.server.sockets(1).connections
            )  # its client still waits
            client.reader._transport.resume_reading()
            _, taken = await client.receive(FetchResponse, 12)
            assert records(taken) == whole
            again = await other.ask(fetch_all(_MEGABYTES), 12, FetchResponse)
            assert records(again).endswith(b"after the move\x00")
            for each in (client, other):
                each.close()

    run(scenario())
