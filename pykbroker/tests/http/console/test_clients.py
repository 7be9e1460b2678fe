"""Clients that have sent their metrics: how they are, and what they have sent."""

from __future__ import annotations

from confluent_kafka import Producer

from pykbroker.telemetry.otlp import Kind, Point
from pykbroker.telemetry.received import ClientValues
from pykbroker.tests.http.http_client import WithHttp, with_http


def test_without_subscriptions_there_is_nobody(http: WithHttp) -> None:
    assert http.look("/clients") == {"total": 0, "start": 0, "clients": [], "subscriptions": 0}


def test_a_client_and_its_metrics() -> None:
    with with_http() as http:
        http.kafka.subscribe_client_metrics(interval_ms=100)
        producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "client.id": "shop-<1>"})
        http.kafka.wait_for_client_metrics("shop-<1>", timeout=20)
        (row,) = http.look("/clients", match="SHOP")["clients"]
        assert (row["client"], row["software"].split()[0]) == ("shop-<1>", "confluent-kafka-python")
        assert row["metrics"] > 0
        assert http.look("/clients", match="nobody")["total"] == 0
        found = http.look("/client", instance=row["instance"], match="connection", limit=1)
        assert (found["client"], len(found["metrics"])) == ("shop-<1>", 1)
        assert found["metrics"][0]["name"].startswith("org.apache.kafka.producer.connection.")
        assert http.ask("/console/api/client?instance=unknown").status == 404
        del producer


def test_a_client_that_went_on_with_another_broker_and_back_is_listed_once_as_it_is_now() -> None:
    with with_http(brokers=2) as http:

        def pushed(node_id: int, *names: str) -> None:
            points = [Point(name, (), Kind.TOTAL, 1.0) for name in names]
            client = ClientValues("i", "shop", "test 1")
            http.kafka._ask(lambda cluster: cluster.brokers[node_id].telemetry.received.take(client, points, 600_000))

        for node_id, names, known in ((1, "a", 1), (2, "ab", 2), (1, "bcd", 4)):
            pushed(node_id, *names)
            found = http.look("/clients")
            assert (found["total"], [row["metrics"] for row in found["clients"]]) == (1, [known])
            assert http.look("/client", instance="i")["total"] == known
