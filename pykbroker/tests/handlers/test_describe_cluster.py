from __future__ import annotations

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest


@pytest.mark.parametrize("version", range(3))
def test_brokers_cluster_and_controller(version):
    broker = MemoryCluster(2)
    response = broker.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, broker.cluster.logs.cluster_id, 1)
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [
        (1, "host1", 9001),
        (2, "host2", 9002),
    ]
    assert response.cluster_authorized_operations == 8096


def test_fenced_brokers_only_when_asked_for():
    broker = MemoryCluster(2)
    broker.controller.fence_broker(1)
    response = broker.ask(DescribeClusterRequest(), 2)
    assert ([b.broker_id for b in response.brokers], response.controller_id) == ([2], 2)
    response = broker.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(b.broker_id, b.is_fenced) for b in response.brokers] == [(1, True), (2, False)]


@pytest.mark.parametrize(
    ("endpoint_type", "code", "message"),
    [
        (
            2,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        ),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
    ],
)
def test_other_endpoint_types(endpoint_type, code, message):
    response = MemoryCluster().ask(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert (response.error_code, response.error_message) == (code, message)
    assert (response.brokers, response.controller_id, response.cluster_id) == ([], -1, "")
