"""Metrics of a stock client, read by a test."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from pykbroker.brokers.broker import WrongBroker
from pykbroker.testing import Kafka
from pykbroker.testing.waiting import TimedOut
from pykbroker.wire.errors import KafkaError


def test_metrics_of_librdkafka() -> None:
    with Kafka() as kafka:
        kafka.subscribe_client_metrics(interval_ms=100, match={"client_id": "mine"})
        settings = {"bootstrap.servers": kafka.bootstrap_servers}
        mine, other = Producer({**settings, "client.id": "mine"}), Producer({**settings, "client.id": "other"})
        for each in (mine, other):
            each.produce("t", b"v")
            each.flush(20)
        found = kafka.wait_for_client_metrics("mine", "org.apache.kafka.producer.", timeout=20)
        assert {each.client_id for each in found} == {"mine"}
        assert all(each.client_instance_id for each in found)
        assert kafka.client_metrics("other") == []
        with pytest.raises(TimedOut, match="client other has not sent metrics"):
            kafka.wait_for_client_metrics("other", timeout=0.01)


def test_an_invalid_subscription_is_refused() -> None:
    with Kafka() as kafka, pytest.raises(KafkaError, match="interval must be between"):
        kafka.subscribe_client_metrics(interval_ms=1)


def test_a_subscription_while_no_broker_runs_is_refused() -> None:
    with Kafka() as kafka:
        kafka.broker(1).stop()
        with pytest.raises(WrongBroker, match="no broker runs"):
            kafka.subscribe_client_metrics()
