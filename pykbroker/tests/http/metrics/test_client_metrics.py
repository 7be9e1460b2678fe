"""Metrics of clients on the page: names, labels, kinds, and those of strangers."""

from __future__ import annotations

from pykbroker.http.metrics.client_metrics import ClientMetricCollector
from pykbroker.http.metrics.page import Page
from pykbroker.telemetry.otlp import Kind, Point
from pykbroker.telemetry.received import ClientValues
from pykbroker.tests.kit.cluster import MemoryCluster


def page_of(*points: Point, client_id: str = "c", brokers: int = 1) -> list[str]:
    """The lines of a client that has sent these points, to each of the brokers."""
    cluster = MemoryCluster(brokers)
    for broker in cluster.cluster.brokers.values():
        broker.telemetry.received.take(ClientValues("i", client_id, "test 1"), points, 1000)
    page = Page()
    for _ in ClientMetricCollector().collect(cluster.cluster, page):
        pass
    lines = b"".join(page.chunks()).decode().splitlines()
    return [line for line in lines if "kafka_client_" in line and "# HELP" not in line]


def test_a_gauge_and_a_sum_under_the_clients_own_names() -> None:
    assert page_of(
        Point("org.apache.kafka.producer.record.queue.time.avg", (("node.id", "1"),), Kind.GAUGE, 2.5),
        Point("org.apache.kafka.producer.record.send.total", (), Kind.DELTA, 3.0),
        Point("org.apache.kafka.consumer.poll", (), Kind.TOTAL, float("inf")),
    ) == [
        "# TYPE kafka_client_producer_record_queue_time_avg gauge",
        'kafka_client_producer_record_queue_time_avg{client_id="c",client_instance_id="i",broker="1",node_id="1"} 2.5',
        "# TYPE kafka_client_producer_record_send_total counter",
        'kafka_client_producer_record_send_total{client_id="c",client_instance_id="i",broker="1"} 3.0',
        "# TYPE kafka_client_consumer_poll_total counter",
        'kafka_client_consumer_poll_total{client_id="c",client_instance_id="i",broker="1"} +Inf',
    ]


def test_a_stranger_s_names_and_labels_are_escaped_and_stay_under_the_prefix() -> None:
    hostile = (("client_id", "somebody"), ('a"}\n9', 'v"\n'), ("1", "x"))
    lines = page_of(Point('kafka_consumergroup_lag{a="b"} 1\n', hostile, Kind.GAUGE, 1.0), client_id='c"\n')
    assert lines == [
        "# TYPE kafka_client_kafka_consumergroup_lag_a__b___1_ gauge",
        'kafka_client_kafka_consumergroup_lag_a__b___1_{client_id="c\\"\\n",client_instance_id="i",broker="1",a___9="v\\"\\n",_1="x"} 1.0',
    ]


def test_labels_that_are_alike_are_told_once() -> None:
    """Prometheus takes nothing of a page that has a label twice."""
    given = (("", "a"), ("\0", "b"), ("_", "c"), ("1", "d"), ("_1", "e"), ("x.y", "f"), ("x_y", "g"))
    (_, line) = page_of(Point("n", given, Kind.GAUGE, 1.0))
    assert line == 'kafka_client_n{client_id="c",client_instance_id="i",broker="1",_="c",_1="e",x_y="g"} 1.0'


def test_prometheus_s_own_labels_are_nobody_s() -> None:
    """``__name__`` would be a line of any other metric."""
    (_, line) = page_of(Point("n", (("__name__", "up"), ("..job", "a"), ("_b", "c")), Kind.GAUGE, 1.0))
    assert line == 'kafka_client_n{client_id="c",client_instance_id="i",broker="1",_name__="up",_job="a",_b="c"} 1.0'


def test_names_that_are_alike_are_told_once_and_in_one_kind() -> None:
    lines = page_of(
        Point("a.b", (), Kind.GAUGE, 1.0),
        Point("a_b", (), Kind.GAUGE, 2.0),
        Point("a.b.total", (), Kind.GAUGE, 3.0),
        Point("a.b", (("x", "y"),), Kind.DELTA, 4.0),
    )
    assert lines == [
        "# TYPE kafka_client_a_b gauge",
        'kafka_client_a_b{client_id="c",client_instance_id="i",broker="1"} 1.0',
        "# TYPE kafka_client_a_b_total gauge",
        'kafka_client_a_b_total{client_id="c",client_instance_id="i",broker="1"} 3.0',
    ]


def test_a_client_that_goes_on_with_another_broker_has_the_series_of_both() -> None:
    """Prometheus refuses a page with two values of one series; the sums of both are what the client did."""
    assert page_of(Point("sent", (("broker", "x"),), Kind.DELTA, 2.0), brokers=2) == [
        "# TYPE kafka_client_sent_total counter",
        'kafka_client_sent_total{client_id="c",client_instance_id="i",broker="1"} 2.0',
        'kafka_client_sent_total{client_id="c",client_instance_id="i",broker="2"} 2.0',
    ]
