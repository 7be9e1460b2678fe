"""Client telemetry (KIP-714) with Java's producer and consumer of 4.4.0, read by a test and at ``/metrics``."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

from compat_tests.harness.java_cases import JavaCases
from pykbroker.testing import Kafka

_FOLDER = Path(__file__).parent
_CASES = JavaCases(_FOLDER / "TelemetryCases.java", "kafka", helpers=(_FOLDER / "Clients.java",))


def test_java_clients_push_their_metrics() -> None:
    (case,) = _CASES.names
    with Kafka(http=0) as kafka:
        kafka.subscribe_client_metrics(interval_ms=100, match={"client_software_name": "apache-kafka-java"})
        _CASES.check(case, kafka.bootstrap_servers, [case])
        (sent,) = {
            each.value for each in kafka.client_metrics("java-producer", "org.apache.kafka.producer.record.send.total")
        }
        assert 0 < sent <= 20  # a client that is closed may not wait for its last push
        lag = kafka.client_metrics("java-consumer", "org.apache.kafka.consumer.fetch.manager.records.lag.max")
        assert len(lag) >= 1
        assert kafka.client_metrics("java-silent") == []
        with urlopen(f"http://{kafka.http_address}/metrics") as page:
            lines = page.read().decode().splitlines()
    (line,) = [each for each in lines if each.startswith('kafka_client_producer_record_send_total{client_id="java-pro')]
    assert line.endswith(f" {sent}")
    assert any(each.startswith("kafka_client_consumer_fetch_manager_records_lag_max{") for each in lines)
