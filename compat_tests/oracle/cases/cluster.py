"""ApiVersions, DescribeCluster, Metadata's view of the cluster."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from pykbroker.wire.messages.unregister_controller import UnregisterControllerRequest


@case(ApiKey.API_VERSIONS)
def what_is_served(ask: Ask) -> None:
    ask(ApiVersionsRequest("a-client", "1.0"))


@case(ApiKey.API_VERSIONS, since=3)
def a_bad_client_software_name(ask: Ask) -> None:
    ask(ApiVersionsRequest("not a name!", "1.0"))
    ask(ApiVersionsRequest("name", "not a version!"))
    ask(ApiVersionsRequest("", ""))


@case(ApiKey.API_VERSIONS, since=5)
def a_cluster_and_a_broker_that_are_expected(ask: Ask) -> None:
    cluster = ask.quietly(DescribeClusterRequest(), 2)
    own, node = cluster.cluster_id, cluster.brokers[0].broker_id
    for cluster_id, node_id in (
        (own, node),
        (own, node + 1),
        ("other", node),
        (own, -1),
        (None, node),
        ("", -1),
        ("", node),
    ):
        ask(ApiVersionsRequest("a-client", "1.0", cluster_id, node_id))
    ask(ApiVersionsRequest("not a name!", "1.0", "other", node))


@case(ApiKey.ADD_RAFT_VOTER)
def voters_of_a_static_quorum(ask: Ask) -> None:
    listeners = [Listener("CONTROLLER", "localhost", 9)]
    x = b"x" * 16
    ask(AddRaftVoterRequest(None, 1000, 2, x, listeners))
    ask(AddRaftVoterRequest("other", 1000, 2, x, listeners))
    ask(AddRaftVoterRequest(None, 1000, 2, x, [Listener("ELSEWHERE", "10.0.0.1", 9)]))
    ask(AddRaftVoterRequest(None, 1000, 2, x, []))
    ask(AddRaftVoterRequest(None, 1000, -1, x, listeners))
    ask(AddRaftVoterRequest(None, 1000, 2, bytes(16), listeners))


@case(ApiKey.REMOVE_RAFT_VOTER)
def no_voters_of_a_static_quorum(ask: Ask) -> None:
    for cluster_id, node_id, directory in (
        (None, 2, b"x" * 16),
        ("other", 2, b"x" * 16),
        (None, -1, b"x" * 16),
        (None, 1, bytes(16)),
    ):
        ask(RemoveRaftVoterRequest(cluster_id, node_id, directory))


@case(ApiKey.UNREGISTER_CONTROLLER)
def an_unknown_controller(ask: Ask) -> None:
    for node_id in (77, -1):
        ask(UnregisterControllerRequest(node_id))
    ask(UnregisterControllerRequest(ask.quietly(DescribeClusterRequest(), 2).brokers[0].broker_id))


@case(ApiKey.DESCRIBE_CLUSTER)
def the_cluster(ask: Ask) -> None:
    ask(DescribeClusterRequest())
    ask(DescribeClusterRequest(include_cluster_authorized_operations=True))


@case(ApiKey.DESCRIBE_CLUSTER, since=1)
def the_controllers_endpoint(ask: Ask) -> None:
    ask(DescribeClusterRequest(endpoint_type=2))
    ask(DescribeClusterRequest(endpoint_type=9))


@case(ApiKey.DESCRIBE_CLUSTER, since=2)
def fenced_brokers_too(ask: Ask) -> None:
    ask(DescribeClusterRequest(include_fenced_brokers=True))


@case(ApiKey.METADATA, since=1)
def brokers_only(ask: Ask) -> None:
    ask(MetadataRequest([]))


@case(ApiKey.METADATA, since=8, until=10)
def operations_on_the_cluster(ask: Ask) -> None:
    ask(MetadataRequest([], include_cluster_authorized_operations=True))
