"""What is used of quotas, and what limits on connections do."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from pykbroker.http.metrics.page import Page
from pykbroker.http.metrics.quotas import _used
from pykbroker.quotas.limits import Limit
from pykbroker.quotas.throttling import Throttling
from pykbroker.tests.http.http_client import WithHttp, of, set_quotas, with_http
from pykbroker.tests.kit.cluster import MemoryCluster

MINE = {"broker": "1", "user": "ANONYMOUS", "clientId": "mine"}


@pytest.fixture
def http() -> Iterator[WithHttp]:
    with with_http(max_connections=3, max_connections_per_ip_overrides="127.0.0.8:0", quota_window_num=1) as found:
        yield found


def connect(http: WithHttp, source: str) -> socket.socket:
    host, _, port = http.kafka.bootstrap_servers.partition(":")
    return socket.create_connection((host, int(port)), 30, (source, 0))


def test_without_quotas_and_limits_nothing_is_told() -> None:
    with with_http() as plain:
        assert not {name for name in plain.metrics() if "quota" in name or "waiting" in name or "refused" in name}


def test_what_is_used_beside_what_may_be(http: WithHttp) -> None:
    set_quotas(
        http.kafka, "client-id", "mine", producer_byte_rate=100_000, request_percentage=50, controller_mutation_rate=2
    )
    settings = {"bootstrap.servers": http.kafka.bootstrap_servers, "client.id": "mine"}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(30)
    producer = Producer(settings)
    producer.produce("t", bytes(300_000))
    producer.flush(30)
    found = http.metrics()
    holder = {"broker": "1", "user": "", "clientId": "mine"}
    assert of(found["kafka_server_quota_byte_rate"], resource="Produce", **holder) > 100_000
    assert of(found["kafka_server_quota_throttle_time"], resource="Produce", **holder) > 0
    assert of(found["pykbroker_quota_limit"], resource="Produce", **holder) == 100_000
    assert of(found["pykbroker_quota_limit"], resource="Request", **holder) == 50
    assert of(found["kafka_server_quota_request_time"], resource="Request", **holder) > 0
    tokens = of(found["kafka_server_quota_tokens"], resource="ControllerMutation", user="", clientId="mine")
    assert tokens < 22


def test_connections_that_wait_and_those_that_are_refused(http: WithHttp) -> None:
    inside = [connect(http, "127.0.0.1") for _ in range(3)]
    refused = connect(http, "127.0.0.8")
    connections = http.kafka.node.server.sockets(1)
    http.kafka.wait_until(lambda _: connections.count == 4)
    found = http.metrics()
    assert of(found["pykbroker_connections_waiting"], broker="1") == 1
    assert of(found["kafka_server_socket_server_metrics_connection_accept_rate"], broker="1", listener="PLAINTEXT") > 0
    inside.pop().close()
    assert refused.recv(1) == b""
    refused.close()
    found = http.metrics()
    assert of(found["pykbroker_connections_waiting"], broker="1") == 0
    assert of(found["pykbroker_connections_refused_total"], broker="1", limit="max.connections.per.ip") == 1
    for each in inside:
        each.close()


def test_tokens_of_many_clients_are_told_in_slices() -> None:
    world = MemoryCluster()
    throttling = Throttling(world.cluster, world.dispatcher)
    for number in range(1000):
        throttling.mutations.bucket(Limit(("", f"client-{number}"), 1), 0)
    assert len(list(_used(throttling, Page(), 0))) >= 10
