"""Brokers of one process that are stopped and started while the others go on, over real sockets; the end of all."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from itertools import count
from pathlib import Path

import pytest

from pykbroker.brokers.broker import WrongBroker
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.directories.log_directories import LogDirectories
from pykbroker.testing import Kafka
from pykbroker.tests.kit.running import ended, running_broker, until
from pykbroker.tests.process.three import run, three
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

RACKS = ["a", "b", "a"]
ASK = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def produce(value: bytes = b"x", acks: int = -1) -> ProduceRequest:
    batch = encode_batch([Record(offset=0, timestamp=1_700_000_000_000, key=None, value=value, headers=[])])
    data = [PartitionProduceData(index=0, records=batch)]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])


def fetch(epoch: int = -1, topic: str = "t", rack: str = "", min_bytes: int = 1 << 20) -> FetchRequest:
    asked = FetchPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=0, last_fetched_epoch=-1, partition_max_bytes=1 << 20
    )
    return FetchRequest(
        max_wait_ms=60_000,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
        rack_id=rack,
    )


def test_a_stop_answers_what_waits_and_moves_what_it_led(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            waiting = [await brokers.connect(1) for _ in range(3)]
            for client, request in zip(waiting, (fetch(epoch=0), fetch(), fetch(topic="alone")), strict=True):
                client.send(request, 12)
            idle = await brokers.connect(1)
            await idle.ask(ASK, 3, ApiVersionsResponse)
            stopping = asyncio.create_task(brokers.node.brokers.stop(1))
            answers = [(await client.receive(FetchResponse, 12))[1].responses[0].partitions[0] for client in waiting]
            assert [each.error_code for each in answers] == [ErrorCode.FENCED_LEADER_EPOCH, 0, 0]
            for client in (*waiting, idle):
                assert await client.closed_by_broker()
            await stopping
            with pytest.raises(OSError):
                await brokers.connect(1)
            gone = ErrorCode.LEADER_NOT_AVAILABLE
            assert await brokers.partitions(2) == [(0, 2, [2, 3]), (gone, -1, [])]
            assert await brokers.alive(3) == [2, 3]

    run(scenario())


def test_a_broker_that_is_back_is_in_sync_and_leads_what_it_leads_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            before = dict(brokers.node.addresses())
            await brokers.node.brokers.stop(1)
            await brokers.start_again(1)
            assert brokers.node.addresses() == before
            assert await brokers.partitions(1) == [(0, 2, [1, 2, 3]), (0, 1, [1])]
            await ended(brokers.node.cluster.controller.elect_preferred_leaders())
            assert await brokers.partitions(1) == [(0, 1, [1, 2, 3]), (0, 1, [1])]
            assert brokers.node.cluster.metadata.image.partition("t", 0).leader_epoch == 2

    run(scenario())


def test_leaders_come_back_by_themselves(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path, leader_imbalance_check_interval_seconds="1") as brokers:
            await brokers.create()
            await brokers.node.brokers.stop(1, abrupt=True)
            await brokers.start_again(1)
            await until(lambda: brokers.node.cluster.metadata.image.partition("t", 0).leader == 1)
            assert (await brokers.partitions(1))[0] == (0, 1, [1, 2, 3])

    run(scenario())


def test_a_broker_that_was_forgotten_while_it_was_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            await brokers.node.brokers.stop(3)
            brokers.node.cluster.controller.unregister_broker(3)
            await brokers.start_again(3)
            assert await brokers.alive(3) == [1, 2, 3]
            assert (await brokers.partitions(3))[0] == (0, 1, [1, 2, 3])

    run(scenario())


def test_an_abrupt_stop_answers_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            client = await brokers.connect(1)
            client.send(fetch(), 12)
            await client.writer.drain()
            await brokers.ask(ASK, 3, ApiVersionsResponse)
            await brokers.node.brokers.stop(1, abrupt=True)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await client.receive(FetchResponse, 12)
            client.close()
            assert (await brokers.partitions(3))[0] == (0, 2, [2, 3])

    run(scenario())


def test_who_does_not_lead_says_who_does_and_where(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            answer = await brokers.ask(produce(), 10, ProduceResponse, broker=3)
            refused = answer.responses[0].partition_responses[0]
            assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (1, 0)
            (where,) = answer.node_endpoints
            assert (
                f"{where.host}:{where.port}" == brokers.node.addresses()[where.node_id] == brokers.node.addresses()[1]
            )

    run(scenario())


def test_acks_all_needs_enough_replicas_in_sync(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path, min_insync_replicas="3") as brokers:
            await brokers.create()

            async def error(acks: int) -> int:
                answer = await brokers.ask(produce(acks=acks), 9, ProduceResponse)
                return answer.responses[0].partition_responses[0].error_code

            assert await error(-1) == 0
            await brokers.node.brokers.stop(3)
            assert [await error(-1), await error(1)] == [ErrorCode.NOT_ENOUGH_REPLICAS, 0]
            await brokers.start_again(3)
            assert await error(-1) == 0

    run(scenario())


def test_a_waiting_join_is_told_to_look_for_the_coordinator(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = {"group_initial_rebalance_delay_ms": "60000", "offsets_topic_replication_factor": "3"}
        async with three(tmp_path, **settings) as brokers:
            find = FindCoordinatorRequest(key="g")
            coordinator = (await brokers.ask(find, 2, FindCoordinatorResponse)).node_id
            client = await brokers.connect(coordinator)
            protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
            join = JoinGroupRequest(
                group_id="g",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                protocol_type="consumer",
                protocols=protocols,
            )
            client.send(join, 3)
            await client.writer.drain()
            await brokers.ask(ASK, 3, ApiVersionsResponse, broker=coordinator)
            stopping = asyncio.create_task(brokers.node.brokers.stop(coordinator))
            _, answer = await client.receive(JoinGroupResponse, 3)
            assert answer.error_code == ErrorCode.NOT_COORDINATOR
            client.close()
            await stopping
            other = next(i for i in (1, 2, 3) if i != coordinator)
            following = (await brokers.ask(find, 2, FindCoordinatorResponse, broker=other)).node_id
            assert following != coordinator
            beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
            neither = next(i for i in (1, 2, 3) if i not in (coordinator, following))
            codes = [(await brokers.ask(beat, 3, HeartbeatResponse, broker=i)).error_code for i in (neither, following)]
            assert codes == [ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_MEMBER_ID]

    run(scenario())


def test_consumers_read_from_a_replica_in_their_rack(tmp_path: Path) -> None:
    async def scenario() -> None:
        selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        async with three(tmp_path, RACKS, replica_selector_class=selector) as brokers:
            await brokers.create()
            await brokers.ask(produce(), 9, ProduceResponse)
            sent = (await brokers.ask(fetch(rack="b"), 12, FetchResponse)).responses[0].partitions[0]
            assert (sent.error_code, sent.preferred_read_replica, sent.high_watermark) == (0, 2, 1)
            for broker, rack in ((2, "b"), (1, "a"), (1, "elsewhere"), (1, "")):
                request = fetch(rack=rack, min_bytes=1)
                found = (await brokers.ask(request, 12, FetchResponse, broker=broker)).responses[0].partitions[0]
                assert (found.error_code, found.preferred_read_replica, bool(found.records)) == (0, -1, True)
            outside = (await brokers.ask(fetch(topic="alone"), 12, FetchResponse, broker=3)).responses[0].partitions[0]
            assert outside.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(scenario())


def test_every_broker_describes_its_own_rack(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path, RACKS, broker_rack="of the file") as brokers:
            for broker, rack in ((1, "a"), (2, "b"), (3, "a")):
                asked = DescribeConfigsResource(resource_type=4, resource_name=str(broker))
                answer = await brokers.ask(DescribeConfigsRequest([asked]), 4, DescribeConfigsResponse, broker=broker)
                settings = {each.name: each.value for each in answer.results[0].configs}
                assert (settings["broker.rack"], settings["node.id"]) == (rack, str(broker))
                if broker > 1:
                    where = brokers.node.addresses()[broker].rsplit(":", 1)[1]
                    assert settings["listeners"] == f"PLAINTEXT://127.0.0.1:{where}"

    run(scenario())


def test_what_cannot_be_changed_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            for refused in (brokers.node.brokers.stop(4), brokers.node.brokers.start(1), brokers.node.brokers.start(4)):
                with pytest.raises(WrongBroker, match="in this process"):
                    await refused
            await brokers.node.brokers.stop(2)
            with pytest.raises(WrongBroker, match="broker 2 is not running in this process; these are: 1, 3"):
                await brokers.node.brokers.stop(2)

    run(scenario())


def test_a_start_that_the_metadata_log_refuses_can_be_tried_again(tmp_path: Path, monkeypatch) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as cluster:
            await cluster.node.brokers.stop(2)

            def refuse(_records: object) -> None:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

            with monkeypatch.context() as patched:
                patched.setattr(cluster.node.cluster.local_controller.log, "append", refuse)
                with pytest.raises(KafkaError):
                    await cluster.node.brokers.start(2)
            assert [each["state"] for each in cluster.node.brokers.describe(cluster.node.addresses())] == [
                "running",
                "stopped",
                "running",
            ]
            await cluster.node.brokers.start(2)
            assert await cluster.alive(2) == [1, 2, 3]

    run(scenario())


def test_a_start_whose_log_directories_cannot_be_read_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as cluster:
            await cluster.node.brokers.stop(2, abrupt=True)

            def refuse(*_: object) -> None:
                raise OSError(errno.EIO, "on purpose")

            with monkeypatch.context() as patched:
                patched.setattr(LogDirectories, "put_strays_aside", refuse)
                with pytest.raises(OSError, match="on purpose"):
                    await cluster.node.brokers.start(2)
            await cluster.node.brokers.start(2)
            assert await cluster.alive(2) == [1, 2, 3]

    run(scenario())


def test_a_port_that_is_taken_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.node.brokers.stop(2)
            host, port = brokers.node.addresses()[2].split(":")
            with socket.create_server((host, int(port))), pytest.raises(OSError):
                await brokers.node.brokers.start(2)
            assert await brokers.alive(1) == [1, 3]
            await brokers.node.brokers.start(2)
            assert await brokers.alive(2) == [1, 2, 3]

    run(scenario())


def test_another_start_of_the_process_has_a_leader_with_all_records(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path) as brokers:
            await brokers.create()
            await brokers.ask(produce(), 9, ProduceResponse)
            await brokers.node.brokers.stop(1)
            await brokers.ask(produce(), 9, ProduceResponse, broker=2)
        async with three(tmp_path) as brokers:
            await brokers.in_sync()
            (of_all, alone) = await brokers.partitions(3)
            assert of_all in [(0, 2, [1, 2, 3]), (0, 3, [1, 2, 3])]  # not 1, which lacks a record at the start
            assert alone == (0, 1, [1])
            assert brokers.node.cluster.partition("t", 0).log_end_offset == 2

    run(scenario())


# ---- the door for people


def test_a_broker_that_is_being_stopped_comes_before_the_end_of_the_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, brokers=2) as running:
            node = running.node
            first, end, second, start = (
                asyncio.ensure_future(work)
                for work in (node.brokers.stop(2), node.stop(), node.brokers.stop(1), node.brokers.start(2))
            )
            await asyncio.wait([first, end, second, start])
        assert first.exception() is None
        assert end.exception() is None
        for late in (second, start):
            with pytest.raises(WrongBroker, match="is stopping"):
                late.result()
        with pytest.raises(WrongBroker, match="is stopping"):
            node.brokers.describe({})

    asyncio.run(asyncio.wait_for(scenario(), 30))


class _Stepping(SystemClock):
    """A machine's clock that is a second later each time it is looked at."""

    def __init__(self) -> None:
        self.monotonic = count(10.0).__next__  # type: ignore[method-assign, assignment]


def test_the_log_has_the_real_duration_though_a_tests_clock_stands_still(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pykbroker.process.node.SystemClock", _Stepping)
    with caplog.at_level("INFO"), Kafka(clock="manual"):
        pass
    assert "Started in 1.00 s" in caplog.text
    assert re.search(r"Clean shutdown: \d+ logs closed in 1.00 s", caplog.text)


def test_the_ready_line_has_what_its_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    table = page.split("### The ready line")[1].split("\n\n")[2]
    documented = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}

    async def start() -> None:
        async with running_broker(tmp_path, brokers=2) as broker:
            said = broker.node.summary()
            assert said.keys() == documented - {"http", "schema_registry", "security"}
            first = [each["listeners"]["PLAINTEXT"] for each in said["brokers"]]
            assert said["bootstrap"] == ",".join(first)
            assert said["protocols"] == {"PLAINTEXT": "PLAINTEXT"}

    asyncio.run(start())
