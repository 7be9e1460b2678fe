"""Kafka Streams 4.3.1: a stream joined with a table, two streams joined in windows, a windowed count that is told once.

With exactly_once_v2 and the classic group protocol; killed in the middle, and run again after Kafka's reset tool.
Left out: foreign-key joins, global tables, the streams group protocol.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.records import LIMIT_S, committed, make_topics
from compat_tests.streams import customers
from compat_tests.streams.app import StreamsApp
from compat_tests.streams.customers import PARTITIONS, Event, Results

HALF, WHOLE = 1500, 1900  # seconds of event time
STOPS_AT = "order 700"  # in the first half; with it, its transaction's output, changelogs and offsets are lost
INPUT = {
    "cities": customers.cities,
    "orders": customers.orders,
    "payments": customers.payments,
    "visits": customers.visits,
}
OUTPUT = ("located", "paid", "minutes")


class Run:
    """One application with its topics."""

    def __init__(self, bootstrap: str, prefix: str, app: StreamsApp) -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix
        self.app = app
        self.fed: dict[str, list[Event]] = {what: [] for what in INPUT}
        make_topics(bootstrap, *(prefix + what for what in (*INPUT, *OUTPUT)), partitions=PARTITIONS)

    def feed(self, seconds: range, *, end: bool = False) -> None:
        """Produces what happens in these seconds of event time."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True})
        for what, events in INPUT.items():
            more = list(events(seconds))
            if end and what != "cities":
                more += customers.ends(seconds.stop)
            for event in more:
                producer.produce(
                    self.prefix + what, event.value, event.key, partition=event.partition, timestamp=event.at_ms
                )
            self.fed[what] += more
        assert producer.flush(LIMIT_S) == 0

    def results(self, what: str) -> Results:
        """Committed records of an output topic."""
        found = committed(self.bootstrap, self.prefix + what)
        return Counter((message.key().decode(), message.value().decode()) for message in found)

    def await_results(self, times: int = 1) -> None:
        """Waits until the outputs are complete; then each result must be there ``times``, and nothing else."""
        fed = self.fed
        for what, expected in {
            "located": customers.located(fed["orders"], fed["cities"]),
            "paid": customers.paid(fed["orders"], fed["payments"]),
            "minutes": customers.minutes(fed["visits"]),
        }.items():
            wanted = Counter({result: count * times for result, count in expected.items()})
            found = eventually(
                lambda what=what: self.results(what),
                lambda seen, wanted=wanted: seen.total() >= wanted.total(),
                pause_s=0.5,
            )
            assert found - wanted == Counter(), f"{what}: too much"
            assert wanted - found == Counter(), f"{what}: too little"


@pytest.fixture
def run(bootstrap: str, name: Callable[..., str], tmp_path) -> Iterator[Run]:
    prefix, application_id = name("topics") + "-", name("app")
    app = StreamsApp(tmp_path, "JoiningApp", bootstrap, application_id, prefix)
    yield Run(bootstrap, prefix, app)
    app.kill()


def test_joins_and_windows_are_exact_though_the_application_is_killed_and_reset(run, kafka_tools, bootstrap):
    run.feed(range(HALF))
    run.app.arguments.append(STOPS_AT)
    run.app.start()
    eventually(run.app.log_file.read_text, lambda log: f"stands still at {STOPS_AT}" in log)
    run.app.kill()
    run.app.arguments.remove(STOPS_AT)
    assert run.results("located").total() < HALF, "it did not stand still, and was killed when all was done"
    run.feed(range(HALF, WHOLE), end=True)
    run.app.start()
    run.await_results()
    run.app.kill()
    group = run.app.application_id
    listed = kafka_tools("groups", "--bootstrap-server", bootstrap, "--list").lines
    assert [line.split()[1:3] for line in listed if line.startswith(group)] == [["Classic", "consumer"]]
    inputs = ",".join(run.prefix + what for what in INPUT)
    reset = ["--application-id", group, "--input-topics", inputs, "--force"]
    done = kafka_tools("streams-application-reset", "--bootstrap-server", bootstrap, *reset)
    assert done.status == 0, done.text
    assert f"{group}-KSTREAM" in done.out.split("Following internal topics")[-1], done.text
    shutil.rmtree(run.app.state)
    run.app.start()
    run.await_results(times=2)
