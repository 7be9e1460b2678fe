"""Every metric is told of, as it is: in docs/metrics.md, and on a page."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families

from pykbroker.http.metrics.catalogue import everything, table
from pykbroker.http.metrics.metric import Metric
from pykbroker.tests.http.http_client import set_quotas, with_http
from pykbroker.tests.http.metrics.test_sharing import page_of, worked

ROOT = Path(__file__).parents[4]
#: What prometheus_client itself tells of a process, and clients of themselves, is not ours to describe.
_OF_OTHERS = re.compile(r"(process|python|kafka_client)_\w+")


def _metrics() -> dict[str, Metric]:
    found = [each for metrics in everything().values() for each in metrics]
    assert len({each.name for each in found}) == len(found)
    return {each.name: each for each in found}


def test_the_page_on_metrics_shows_them_as_they_are() -> None:
    """Else put what `python -m pykbroker.http.metrics.catalogue` prints in their place."""
    assert (ROOT / "docs" / "metrics.md").read_text().endswith(f"## Every metric\n\n{table()}")


def test_every_metric_says_what_it_is() -> None:
    for each in _metrics().values():
        assert re.fullmatch(r"(kafka|pykbroker)_[a-z0-9_]+", each.name), each.name
        assert each.name.endswith("_total") == (each.kind == "counter"), each.name
        assert each.meaning.endswith("."), each.name
        assert each.moves.endswith("."), each.name


@pytest.fixture(scope="module")
def families() -> Iterator[dict[str, list[tuple[str, set[str]]]]]:
    """Of a broker that was asked for most of what it can do: name of a metric to its samples, by name and labels."""
    with with_http(brokers=2, max_connections_per_ip_overrides="127.0.0.8:0") as http:
        set_quotas(
            http.kafka,
            *("client-id", "rdkafka"),
            producer_byte_rate=1e9,
            consumer_byte_rate=1e9,
            request_percentage=1e6,
            controller_mutation_rate=1e6,
        )
        host, _, port = http.kafka.bootstrap_servers.partition(",")[0].partition(":")
        with socket.create_connection((host, int(port)), 30, ("127.0.0.8", 0)) as refused:
            assert refused.recv(1) == b""
        settings = {"bootstrap.servers": http.kafka.bootstrap_servers}
        admin = AdminClient(settings)
        admin.create_topics([NewTopic("t", 2, 1)])["t"].result(30)
        producer = Producer({**settings, "transactional.id": "mine"})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce("t", b"v", partition=0)
        producer.commit_transaction(20)
        consumer = Consumer({**settings, "group.id": "g", "enable.auto.commit": False})
        consumer.assign([TopicPartition("t", 0, 0)])
        assert len(consumer.consume(1, 20)) == 1
        consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
        http.kafka.subscribe_client_metrics(interval_ms=100)
        watched = Producer({**settings, "client.id": "watched"})
        http.kafka.wait_for_client_metrics("watched", timeout=20)
        text = http.ask("/metrics").text
        del watched
        consumer.close()
    with with_http(security="ssl") as http:
        secured = http.ask("/metrics").text
    return _families(secured) | _families(text) | _families(page_of(worked()))


def _families(text: str) -> dict[str, list[tuple[str, set[str]]]]:
    return {
        family.name + ("_total" if family.type == "counter" else ""): [
            (sample.name, set(sample.labels)) for sample in family.samples
        ]
        for family in text_string_to_metric_families(text)
    }


def test_every_metric_is_on_a_page_with_its_labels(families: dict[str, list[tuple[str, set[str]]]]) -> None:
    for name, metric in _metrics().items():
        assert families.get(name), f"{name} is not there"
        for sample, labels in families[name]:
            own = set(metric.labels) | ({"le"} if sample.endswith("_bucket") else set())
            if sample == name and metric.kind == "summary":
                own.add("quantile")
            assert labels in (own, set()), (sample, labels)


def test_nothing_else_is_on_a_page(families: dict[str, list[tuple[str, set[str]]]]) -> None:
    strangers = {name for name in families if not _OF_OTHERS.fullmatch(name)} - _metrics().keys()
    assert not strangers
