from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import pytest

from pykbroker.tests.kit.running import Client
from pykbroker.tests.worlds.support import lived
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from pykbroker.worlds import report
from pykbroker.worlds.exploring import explore
from pykbroker.worlds.life import live
from pykbroker.worlds.world import World


async def _ask(place: str, request: Any, version: int, response: Any) -> Any:
    host, port = place.split(":")
    client = Client(*await asyncio.open_connection(host, int(port)))
    answer = await client.ask(request, version, response)
    client.close()
    return answer


def test_clients_see_a_cluster_and_the_test_what_is_in_it() -> None:
    async def test(world: World) -> None:
        kafka = await world.kafka(
            brokers=3, seed={"topics": {"orders": {"partitions": 3, "records": [{"value": "first"}]}}}
        )
        first, *others = kafka.bootstrap_servers.split(",")
        answer = await _ask(first, MetadataRequest(topics=None), 12, MetadataResponse)
        assert [f"{each.host}:{each.port}" for each in answer.brokers] == [first, *others]
        assert [len(each.partitions) for each in answer.topics] == [3]
        await kafka.produce("orders", "second")
        assert sorted(each.text or "" for each in kafka.records("orders")) == ["first", "second"]
        with pytest.raises(KafkaError, match="orders"):
            await kafka.create_topic("orders")
        await kafka.stop_broker(2)
        with pytest.raises(ConnectionRefusedError):
            await _ask(others[0], ApiVersionsRequest(), 0, ApiVersionsResponse)
        await kafka.start_broker(2)
        assert (await _ask(others[0], ApiVersionsRequest(), 0, ApiVersionsResponse)).error_code == 0

    lived(test)


@pytest.mark.parametrize("power", [False, True])
def test_a_killed_broker_keeps_what_was_written_and_one_without_power_what_was_synced(power: bool) -> None:
    kept: list[int] = []

    async def test(world: World) -> None:
        kafka = await world.kafka(topics={"orders": 1})
        reader, _ = await asyncio.open_connection("kafka", 9092)
        for number in range(20):
            await kafka.produce("orders", str(number))
        (kafka.lose_power if power else kafka.kill)(restart=2)
        assert not kafka.is_ready
        with pytest.raises(RuntimeError, match="does not run"):
            kafka.records("orders")
        await world.sleep(1)
        if not power:
            with pytest.raises(ConnectionResetError):
                await reader.read()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("kafka", 9092)
        await world.until(lambda: kafka.is_ready)
        kept.append(len(kafka.records("orders")))

    for seed in range(1, 6):
        lived(test, seed)
    if power:
        assert min(kept) < 20
    else:
        assert kept == [20] * 5


def test_synced_records_outlive_the_loss_of_power() -> None:
    async def test(world: World) -> None:
        kafka = await world.kafka(topics={"orders": 1}, settings={"log.flush.interval.messages": 1})
        for number in range(5):
            await kafka.produce("orders", str(number))
        kafka.lose_power()
        await world.until(lambda: kafka.is_ready)
        assert len(kafka.records("orders")) == 5

    for seed in range(1, 6):
        lived(test, seed)


def test_a_finding_of_the_judge_is_told_with_its_producer_and_requests() -> None:
    """In the report, whose life is recorded."""

    async def charging() -> None:
        client = Client(*await asyncio.open_connection("kafka", 9092))
        for sequence in (0, 1):
            batch = encode_batch([Record(value=b"order")], producer_id=77, producer_epoch=3, base_sequence=sequence)
            data = TopicProduceData("charges", partition_data=[PartitionProduceData(0, batch)])
            await client.ask(ProduceRequest(None, -1, 1000, [data]), 9, ProduceResponse)
        client.close()

    async def test(world: World) -> None:
        kafka = await world.kafka(topics={"orders": 1, "charges": 1})
        await kafka.produce("orders", b"order")
        world.host(charging)
        await world.settle()
        world.judge(kafka, "orders", "charges")

    failure = explore(test, ())
    assert failure is not None
    told = str(failure.error)
    assert "doubled: b'order' (orders-0@0, charges-0@0, charges-0@1)" in told
    assert re.search("charges-0@1 is of .*, producer 77, epoch 3, sequence 1:", told)
    assert told.count("-> broker 1: Produce v9 charges: ok") >= 2
    assert "is of" not in str(live(test, 0, {}).error)  # such a life is not recorded


async def _produced_until_answered(number: int) -> None:
    """As a producer without idempotence does: again, on another connection, where no answer comes."""
    data = TopicProduceData(
        "orders", partition_data=[PartitionProduceData(0, encode_batch([Record(value=b"%d" % number)]))]
    )
    while True:
        with contextlib.suppress(OSError, EOFError):
            answer = await _ask("kafka:9092", ProduceRequest(None, -1, 1000, [data]), 9, ProduceResponse)
            assert not answer.responses[0].partition_responses[0].error_code
            return


def test_chaos_befalls_by_the_seed_and_is_shrunk_to_what_the_failure_needs() -> None:
    async def test(world: World) -> None:
        kafka = await world.kafka(topics={"orders": 1}, chaos="profile=network intensity=5")
        for number in range(10):
            await _produced_until_answered(number)
        assert len(kafka.records("orders")) == 10

    failure = explore(test, range(1, 50))
    assert failure is not None
    assert failure.seed > 0  # nothing befalls in the calm life
    assert failure.repeatable
    assert len(failure.deviations) == 1
    (told,) = report.schedule(failure)
    assert re.fullmatch(r"kafka: connection lost with the answer: Produce \d+ of 'test': \* close after", told)
    assert f"  kafka: {told.removeprefix('kafka: ')}" in report.text(failure, "-")
    assert any(kind == "chaos" and told.endswith(words) for _, _, kind, words in failure.life.events)


def test_chaos_befalls_the_cluster_in_the_time_of_the_world() -> None:
    befell: list[str] = []

    async def test(world: World) -> None:
        kafka = await world.kafka(brokers=3, settings={"default.replication.factor": 3}, chaos="intensity=4")
        await kafka.create_topic("orders", 3, replication_factor=3)
        await world.sleep(60)
        befell.extend(line for line in map(str, world.simulator.tape.taken) if "moved" in line or "broker lost" in line)

    first = live(test, 7)
    assert first.error is None
    assert len(befell) > 5
    assert live(test, 7).trace_hash == first.trace_hash
    assert live(test, 8).trace_hash != first.trace_hash


@pytest.mark.parametrize(
    ("chaos", "words"),
    [
        ("7", "chaos has no 7; it has profile"),
        ("profile=none", "there is no chaos profile 'none'; there are everything"),
    ],
)
def test_what_is_no_chaos_is_refused(chaos: str, words: str) -> None:
    async def test(world: World) -> None:
        await world.kafka(chaos=chaos)

    assert words in str(live(test, 1).error)
