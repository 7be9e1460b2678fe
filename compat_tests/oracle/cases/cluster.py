"""ApiVersions, DescribeCluster, Metadata's view of the cluster."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.metadata import MetadataRequest


@case(ApiKey.API_VERSIONS)
def what_is_served(ask: Ask) -> None:
    ask(ApiVersionsRequest("a-client", "1.0"))


@case(ApiKey.API_VERSIONS, since=3)
def a_bad_client_software_name(ask: Ask) -> None:
    ask(ApiVersionsRequest("not a name!", "1.0"))
    ask(ApiVersionsRequest("name", "not a version!"))
    ask(ApiVersionsRequest("", ""))


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
