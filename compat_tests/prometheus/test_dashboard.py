"""Prometheus itself scrapes a broker that is at work, and is asked every query of the Grafana dashboard, one by one."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import ROOT
from compat_tests.prometheus.server import PROGRAM, Prometheus
from pykbroker.http.dashboard.grafana import dashboard
from pykbroker.testing import KafkaCluster

DASHBOARD = dashboard()
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [
    pytest.param(target, id=f"{panel['title']}-{target['refId']}") for panel in PANELS for target in panel["targets"]
]
VARIABLES = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
#: What Grafana puts in place of what is chosen, all being chosen.
CHOSEN = {"$__rate_interval": "1h", **{f"${each['name']}": each["allValue"] for each in VARIABLES}}
PARTITIONS = 2
#: Scrapes before it is asked.
ENOUGH = 4


class Load:
    """Clients that do all that a panel shows, until the end."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self._kafka = kafka
        self._settings = {"bootstrap.servers": kafka.bootstrap_servers}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._consumers = [self._consumer("calm", "orders"), self._consumer("moving", "orders")]

    def __enter__(self) -> Self:
        self._kafka.create_topic("orders", PARTITIONS, replication_factor=2)
        self._kafka.create_topic("small", configs={"max.message.bytes": 100})
        for consumer in self._consumers:
            eventually(lambda consumer=consumer: (consumer.poll(0.05), consumer.assignment())[1], bool)
        self._consumers.append(self._consumer("moving", "orders"))  # the first never polls again
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        # librdkafka's close() hangs where the application has not heard of a rebalance yet: the callback asks the group's thread,
        # which ends as soon as LeaveGroup is answered, and waits for ever, with the interpreter's lock. So each hears of it first.
        calm, *moving = self._consumers
        eventually(
            lambda: [(each.poll(0.05), len(each.assignment()))[1] for each in moving],
            lambda assigned: assigned == [PARTITIONS // len(moving)] * len(moving),
        )
        for consumer in (calm, *moving):
            consumer.close()

    def _consumer(self, group: str, topic: str) -> Consumer:
        made = Consumer(
            {**self._settings, "group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
        )
        made.subscribe([topic])
        return made

    def _run(self) -> None:
        producer = Producer({**self._settings, "transactional.id": "mine"})
        plain = Producer(self._settings)
        lost = Consumer({**self._settings, "group.id": "lost", "auto.offset.reset": "error"})
        producer.init_transactions(60)
        while not self._over.is_set():
            producer.begin_transaction()
            producer.produce("orders", b"x" * 100)
            producer.commit_transaction(60)
            plain.produce("small", b"x" * 1000)
            plain.flush(60)
            lost.assign([TopicPartition("orders", 0, 1_000_000)])
            with suppress(KafkaException):
                lost.consume(1, 0.05)
            self._consumers[0].poll(0.05)
            with suppress(KafkaException):  # nothing to commit
                self._consumers[0].commit(asynchronous=False)
            self._consumers[2].poll(0)
        lost.close()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    if PROGRAM is None:
        pytest.skip("prometheus is not installed; Debian's package has it")
    with KafkaCluster(brokers=2, http=0) as kafka:
        server = Prometheus(tmp_path_factory.mktemp("prometheus"), kafka.http_address)
        with Load(kafka):
            server.start()
            try:
                for waited in ("kafka_consumergroup_lag_sum", 'pykbroker_group_state{state="PreparingRebalance"}'):
                    text = f"min(count_over_time({waited}[1h]))"
                    eventually(
                        lambda text=text: server.query(text),
                        lambda found: found and float(found[0]["value"][1]) >= ENOUGH,
                    )
                yield server
            finally:
                server.stop()


def requested(text: str) -> str:
    for name, value in CHOSEN.items():
        text = text.replace(name, value)
    assert "$" not in text, text
    return text


@pytest.mark.parametrize("target", QUERIES)
def test_a_query_has_an_answer_with_the_labels_that_it_is_shown_by(
    prometheus: Prometheus, target: dict[str, Any]
) -> None:
    found = prometheus.query(requested(target["expr"]))
    assert found, "no line at all: no such metric, or none with these labels"
    assert any(not math.isnan(float(each["value"][1])) for each in found)
    shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
    for each in found:
        assert shown <= each["metric"].keys(), each["metric"]


#: Where something happens all the time, so that a number is no accident.
BUSY = (
    "Records in",
    "Bytes in",
    "Bytes out",
    "Requests",
    "Refused",
    "Bytes refused",
    "Errors",
    "Lag",
    "Committed",
    "Not stable",
    "Size",
)


@pytest.mark.parametrize("title", BUSY)
def test_what_is_busy_is_seen(prometheus: Prometheus, title: str) -> None:
    (panel,) = [each for each in PANELS if each["title"] == title]
    for target in panel["targets"]:
        text = f"max({requested(target['expr'])})"
        eventually(
            lambda text=text: prometheus.query(text), lambda found: found and float(found[0]["value"][1]) > 0, 60
        )


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda each: each["name"])
def test_there_is_something_to_choose(prometheus: Prometheus, variable: dict[str, Any]) -> None:
    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
    found = prometheus.ask(f"label/{label}/values", **{"match[]": requested(series)})
    assert found
    assert all(re.fullmatch(variable["allValue"], each) for each in found)


def test_what_one_is_alerted_by_is_there(prometheus: Prometheus) -> None:
    page = (ROOT / "docs" / "metrics.md").read_text().partition("## What to be alerted by")[2].partition("\n## ")[0]
    names = re.findall(r"\b(?:kafka|pykbroker)_\w+|\bup\b", page)
    assert len(names) >= 9
    for name in names:
        assert prometheus.query(name), name


def test_the_page_is_all_that_prometheus_takes(prometheus: Prometheus) -> None:
    (target,) = prometheus.ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
