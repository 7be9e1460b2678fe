"""What clients do is counted once, under the names that dashboards ask for."""

from __future__ import annotations

import asyncio
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.http.metrics.meter import RequestKind, RequestMeter, TopicCounts
from pykbroker.http.metrics.page import Page
from pykbroker.http.metrics.requests import RequestCollector
from pykbroker.requests.pipeline import Place
from pykbroker.runtime.clock import ManualClock, SystemClock
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.http.http_client import WithHttp, of
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, counted
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pykbroker.wire.records import Record, encode_batch

_TOPIC = "kafka_server_brokertopicmetrics_"
_REQUEST = "kafka_network_requestmetrics_"


def test_what_is_written_and_read_is_counted_by_topic(http: WithHttp) -> None:
    http.kafka.create_topic("t", 2)
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "linger.ms": 1000})
    for number in range(10):
        producer.produce("t", b"v" * 100, partition=number % 2)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": http.kafka.bootstrap_servers, "group.id": "g"})
    consumer.assign([TopicPartition("t", index, 0) for index in range(2)])
    assert len(consumer.consume(10, 20)) == 10
    consumer.close()
    found = http.metrics()
    assert of(found[_TOPIC + "messagesin_total"], topic="t") == 10
    assert of(found[_TOPIC + "messagesin_total"]) == 10
    written = of(found[_TOPIC + "bytesin_total"], topic="t")
    assert written == sum(of(found["kafka_log_log_size"], topic="t", partition=index) for index in "01") > 1000
    assert of(found[_TOPIC + "bytesout_total"], topic="t") == written
    assert of(found[_TOPIC + "totalproducerequests_total"], topic="t") == 2
    assert of(found[_TOPIC + "failedproducerequests_total"], topic="t") == 0
    produced = [value for key, value in found[_REQUEST + "requests_total"].items() if ("request", "Produce") in key]
    assert produced == [2]  # librdkafka sends one for each partition
    assert of(found[_REQUEST + "errors_total"], request="Produce", error="NONE") == 2
    assert of(found[_REQUEST + "totaltimems_count"], request="Produce") == 2
    fetches = of(found[_REQUEST + "totaltimems_count"], request="Fetch")
    assert fetches == of(found[_REQUEST + "totaltimems_count"], request="FetchConsumer") > 0
    assert of(found["pykbroker_request_seconds_bucket"], request="Produce", le="+Inf") == 2
    assert not [key for key in found["kafka_log_log_size"] if "__cluster_metadata" in str(key)]


def test_what_is_refused_is_counted_as_that(http: WithHttp) -> None:
    http.kafka.create_topic("small", configs={"max.message.bytes": 100})
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "retries": 0})
    failed: list[Any] = []
    producer.produce("small", b"v" * 1000, on_delivery=lambda error, _: failed.append(error))
    producer.flush(20)
    assert len(failed) == 1
    consumer = Consumer(
        {"bootstrap.servers": http.kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "error"}
    )
    consumer.assign([TopicPartition("small", 0, 5)])
    found = consumer.consume(1, 20)
    with pytest.raises(KafkaException):
        raise KafkaException(found[0].error())
    consumer.close()
    seen = http.metrics()
    assert of(seen[_TOPIC + "failedproducerequests_total"], topic="small") == 1
    assert of(seen[_TOPIC + "bytesrejected_total"], topic="small") > 1000
    assert of(seen[_TOPIC + "bytesin_total"], topic="small") == 0
    assert of(seen[_REQUEST + "errors_total"], request="Produce", error="MESSAGE_TOO_LARGE") == 1
    assert of(seen[_TOPIC + "failedfetchrequests_total"], topic="small") == 1
    assert of(seen[_REQUEST + "errors_total"], request="Fetch", error="OFFSET_OUT_OF_RANGE") == 1


def test_topics_that_are_gone_are_in_the_sum_alone(http: WithHttp) -> None:
    http.kafka.create_topic("t")
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers})
    producer.produce("t", b"v")
    assert producer.flush(20) == 0
    http.kafka.delete_topic("t")
    found = http.metrics()
    assert found[_TOPIC + "messagesin_total"] == {(): 1}
    assert found["kafka_controller_kafkacontroller_globaltopiccount"] == {(): 0}


# ---- the meter by itself -----------------------------------------------------------------------------------------------


class _Heartbeats:
    """Calls the meter as the dispatcher does."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.meter = RequestMeter(self.clock)
        self._context = cast("Any", SimpleNamespace(api_key=12, api_version=4))

    def ask(self, answer: Any) -> Any:
        def handle(*_: Any) -> Any:
            self.clock.advance(2)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return self.meter.around(12, handle)(cast("Any", None), self._context, object())


def test_a_wait_is_counted_when_it_is_over() -> None:
    asked = _Heartbeats()
    answer: Deferred[None] = Deferred()
    assert asked.ask(answer) is answer
    counts = asked.meter.requests[RequestKind(12, 4)]
    assert (counts.total.count, counts.at_once.count) == (0, 0)
    asked.clock.advance(500)
    answer.complete(None)
    assert (counts.local.sum_s, counts.remote.sum_s, counts.total.sum_s) == pytest.approx((0.002, 0.5, 0.502))


@pytest.mark.parametrize("later", [False, True])
def test_an_error_of_the_whole_request_is_counted(later: bool) -> None:
    asked = _Heartbeats()
    error = KafkaError(ErrorCode.NOT_COORDINATOR)
    if later:
        asked.ask(Deferred.failed(error))
    else:
        with pytest.raises(KafkaError):
            asked.ask(error)
    counts = asked.meter.requests[RequestKind(12, 4)]
    assert counts.errors == {ErrorCode.NOT_COORDINATOR: 1}
    assert counts.at_once.count + counts.total.count == 1


def test_what_comes_again_is_counted_when_it_is_answered_and_what_is_closed_is_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = _Heartbeats()
    with pytest.raises(NotYet):
        asked.ask(NotYet(Deferred()))
    with pytest.raises(CloseConnection):
        asked.ask(CloseConnection("why"))
    asked.ask(Deferred.failed(CloseConnection("why")))
    assert not caplog.records
    counts = asked.meter.requests[RequestKind(12, 4)]
    assert (counts.closed, counts.at_once.count, counts.total.count) == (2, 0, 0)


def _sent(topic: TopicProduceData, batches: int, values: int) -> ProduceRequest:
    records = [Record(timestamp=0, value=b"v") for _ in range(values)]
    topic.partition_data = [PartitionProduceData(index, bytes(encode_batch(records))) for index in range(batches)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])


def test_a_topic_is_one_whether_clients_say_its_name_or_its_id() -> None:
    world = MemoryCluster()
    meter = RequestMeter(SystemClock())
    world.dispatcher.places.fill(Place.MEASURE, meter.around)
    for count in range(1, 3):
        topic_id = world.topic("t", partitions=2)
        for batches in (1, 2):
            for _ in range(2):  # the first one of a topic is counted another way
                world.ask(_sent(TopicProduceData(name="t"), batches, 3), 9)
                world.ask(_sent(TopicProduceData(topic_id=topic_id), batches, 3), 13)
        counts = meter.topics["t"]
        assert (counts.produces, counts.messages_in, counts.failed_produces) == (12, 36, 0)
        assert counts.bytes_in == 12 * len(encode_batch([Record(timestamp=0, value=b"v")] * 3))
        world.delete_topic("t")
        world.ask(_sent(TopicProduceData(topic_id=topic_id), 1, 3), 13)
        meter.merge_other_topics(world.cluster.metadata.image.topics)
        world.ask(_sent(TopicProduceData(topic_id=topic_id), 1, 3), 13)
        assert "t" not in meter.topics
        total = TopicCounts()
        for each in meter.each_topic():
            total.add(each)
        assert (total.messages_in, total.failed_produces) == (36 * count, 2 * count)
    assert meter.requests[RequestKind(0, 9)].fine == meter.requests[RequestKind(0, 13)].fine == 12


def test_malformed_bytes_and_unknown_names_leave_no_lines_behind(http: WithHttp) -> None:
    """A client may produce to as many topics that are not there as it likes."""

    async def ask() -> None:
        host, _, port = http.kafka.bootstrap_servers.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for number in range(20):
            name = f"nobody-{number}".encode()
            body = struct.pack(">hhiih", -1, 1, 1000, 1, len(name)) + name + struct.pack(">iii", 1, 0, -1)
            frame = struct.pack(">hhih", 0, 3, number, -1) + body
            writer.write(struct.pack(">i", len(frame)) + frame)
            await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
        writer.close()

    asyncio.run(asyncio.wait_for(ask(), 20))
    found = http.metrics()
    assert found[_TOPIC + "failedproducerequests_total"] == {(): 20}
    assert of(found[_REQUEST + "errors_total"], request="Produce", error="UNKNOWN_TOPIC_OR_PARTITION") == 20


def test_topics_are_added_up_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    added = longest = 0
    add = TopicCounts.add

    def noted(self: TopicCounts, other: TopicCounts) -> None:
        nonlocal added
        added += 1
        add(self, other)

    monkeypatch.setattr(TopicCounts, "add", noted)
    world = MemoryCluster()
    meter = RequestMeter(SystemClock())
    for number in range(200):
        world.topic(f"t{number}")
        meter.topics[f"t{number}"] = TopicCounts()
    for _ in RequestCollector(meter, SystemClock()).collect(world.cluster, Page()):
        longest, added = max(longest, added), 0
    assert 1 < longest <= 50


def _answers(width: int) -> list[tuple[int, FetchResponse | ProduceResponse]]:
    """Of so many partitions of the topic t, one of them with an error; with their API keys."""
    parts = [PartitionData(index, error_code=index == 0, records=bytes(10)) for index in range(width)]
    fetched = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=parts)])
    written = [PartitionProduceResponse(index, error_code=index == 0) for index in range(width)]
    return [(1, fetched), (0, ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=written)]))]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("later", [False, True])
def test_an_answer_of_many_partitions_is_counted_in_slices(place: int, later: bool) -> None:
    width = 20_000
    world = MemoryCluster()
    world.topic("t")
    meter = RequestMeter(SystemClock())
    key, response = _answers(width)[place]
    answer: Deferred[Any] = Deferred()
    handle = meter.around(key, lambda *_: answer if later else response)
    context = cast("Any", SimpleNamespace(api_key=key, api_version=4))
    slices, longest = world.broker.runtime.slices, 0
    with counted() as lines:
        handle(world.broker, context, ProduceRequest())
        if later:
            answer.complete(response)
    topic = meter.topics["t"]
    assert 0 < topic.fetches + topic.produces < width
    while len(slices):
        longest = max(longest, lines[0])
        with counted() as lines:
            world.broker.runtime.wake_queue.run()
    assert 0 < longest < MOST
    assert topic.fetches + topic.produces == width
    assert topic.failed_fetches + topic.failed_produces == 1
    assert topic.bytes_out == (10 * width if key else 0)
