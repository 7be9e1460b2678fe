"""The cluster at a glance."""

from __future__ import annotations

from pykbroker import __version__
from pykbroker.tests.http.http_client import with_http


def test_brokers_that_run_and_that_are_stopped() -> None:
    with with_http(brokers=2) as http:
        http.kafka.create_topic("t", 4, replication_factor=2)
        http.kafka.produce("t", "x")
        seen = http.look("/overview")
        assert (seen["version"], seen["brokers"], seen["topics"], seen["partitions"]) == (__version__, 2, 1, 4)
        assert (seen["offline"], seen["under_replicated"], seen["bytes"] > 0) == (0, 0, True)
        one, two = http.look("/brokers")["brokers"]
        assert (one["id"], one["running"], one["holds"], two["holds"]) == (1, True, 4, 4)
        assert one["leads"] + two["leads"] == 4
        assert one["listeners"][0].startswith("PLAINTEXT://127.0.0.1:")
        http.kafka.broker(2).stop()
        one, two = http.look("/brokers")["brokers"]
        assert (one["leads"], two["running"], two["leads"]) == (4, False, 0)
        seen = http.look("/overview")
        assert (seen["brokers"], seen["brokers_in_all"], seen["under_replicated"]) == (1, 2, 4)
        http.kafka.broker(1).stop()
        assert http.refusal("/groups") == (503, "every broker of this process is stopped; start one under Brokers")
        assert len(http.look("/brokers")["brokers"]) == 2


def test_it_goes_on_over_a_reset() -> None:
    with with_http() as http:
        http.kafka.create_topic("before")
        assert http.look("/topics")["total"] == 1
        http.kafka.reset()
        assert http.look("/topics")["total"] == 0
        http.change("/topics/create", topic="after", partitions=1)
        assert http.change("/records/produce", topic="after", value="x")["offset"] == 0
