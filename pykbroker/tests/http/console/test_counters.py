"""What the picture of throughput and latency is drawn from."""

from __future__ import annotations

from confluent_kafka import Producer

from pykbroker.tests.http.http_client import with_http


def test_clients_are_counted_and_the_console_is_not() -> None:
    with with_http() as http:
        http.kafka.create_topic("t")
        http.change("/records/produce", topic="t", value="of the console")
        http.look("/records", topic="t")
        before = http.look("/pulse")
        assert (before["bytes_in"], before["apis"]) == (0, {})
        producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers})
        for _ in range(3):
            producer.produce("t", "x" * 100)
            assert producer.flush(60) == 0
        after = http.look("/pulse")
        assert after["at"] > before["at"]
        assert (after["records_in"], after["bytes_in"] > 300) == (3, True)
        produce = after["apis"]["PRODUCE"]
        assert sum(count for _, count in produce["took"]) == 3
        assert produce["took"] == sorted(produce["took"])
        assert produce["errors"] == 0
