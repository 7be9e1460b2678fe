"""Connections by listener and software."""

from __future__ import annotations

import socket

import pytest
from confluent_kafka import Producer

from pykbroker.brokers.cluster import Cluster
from pykbroker.http.metrics import connections
from pykbroker.tests.http.http_client import WithHttp, of


def test_who_is_connected(http: WithHttp) -> None:
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers})
    producer.produce("t", b"v")
    assert producer.flush(20) == 0
    found = http.metrics()
    here = {"broker": "1", "listener": "PLAINTEXT"}
    open_now = of(found["kafka_server_socket_server_metrics_connection_count"], **here)
    assert open_now > 0
    assert of(found["kafka_server_socket_server_metrics_connection_creation_total"], broker="1") >= open_now
    software = {
        dict(key)["clientSoftwareName"] for key in found["kafka_server_socket_server_metrics_connections_software"]
    }
    assert "librdkafka" in software or "confluent-kafka-python" in software


def test_clients_cannot_make_up_lines_without_end(http: WithHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_MOST_SOFTWARE", 2)
    host, _, port = http.kafka.bootstrap_servers.partition(":")
    made = [socket.create_connection((host, int(port))) for _ in range(5)]
    open_now = http.kafka.node.server.sockets(1).connections
    http.kafka.wait_until(lambda _: len(open_now) == 5)

    def pretend(_: Cluster) -> None:
        for number, each in enumerate(list(open_now)):
            each.client_software = (f"name-{number}", "1")

    http.kafka._ask(pretend)
    found = http.metrics()["kafka_server_socket_server_metrics_connections_software"]
    assert sorted(found.values()) == [1, 1, 3]
    assert of(found, clientSoftwareName="others", clientSoftwareVersion="", listener="PLAINTEXT") == 3
    for each in made:
        each.close()
