"""Responses of 2.8, with its controller over ZooKeeper, that differ from 4.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.names import collision_key
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from pykbroker.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from pykbroker.wire.messages.delete_topics import DeleteTopicsResponse
    from pykbroker.wire.messages.describe_producers import DescribeProducersResponse
    from pykbroker.wire.messages.elect_leaders import ElectLeadersResponse
    from pykbroker.wire.messages.list_groups import ListGroupsRequest
    from pykbroker.wire.messages.list_offsets import ListOffsetsRequest
    from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse

#: The lowest special timestamp of 2.8: EARLIEST.
_LOWEST_SPECIAL: Final = -2


def without_features(
    _broker: Broker, _ctx: RequestContext, request: ApiVersionsRequest | None, response: ApiVersionsResponse
) -> None:
    """ApiVersions: no features are supported or finalized."""
    response.supported_features, response.finalized_features = [], []
    response.finalized_features_epoch = 0 if request is not None and response.api_keys else -1


def created_soon(broker: Broker, _ctx: RequestContext, request: MetadataRequest, response: MetadataResponse) -> None:
    """Metadata: an auto-created topic is LEADER_NOT_AVAILABLE at first, in later releases UNKNOWN_TOPIC_OR_PARTITION."""
    if not request.allow_auto_topic_creation or not broker.config["auto.create.topics.enable"]:
        return
    topics = broker.metadata.image.topics
    for topic in response.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic.name is not None:
            key = collision_key(topic.name)
            collides = key is not None and any(name != topic.name and collision_key(name) == key for name in topics)
            topic.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION if collides else ErrorCode.LEADER_NOT_AVAILABLE


def without_id_when_validated(
    _broker: Broker, _ctx: RequestContext, request: CreateTopicsRequest, response: CreateTopicsResponse
) -> None:
    """CreateTopics: a topic that is only validated has no id."""
    if request.validate_only:
        for topic in response.topics:
            topic.topic_id = ZERO_ID


def without_ids_of_named(_broker: Broker, _ctx: RequestContext, request: Any, response: DeleteTopicsResponse) -> None:
    """DeleteTopics: a topic deleted by name is returned without its id."""
    named = {topic.name for topic in request.topics} if request.topics else set(request.topic_names)
    for topic in response.responses:
        if topic.name is not None and topic.name in named:
            topic.topic_id = ZERO_ID


def plain_times(
    _broker: Broker, _ctx: RequestContext, request: ListOffsetsRequest, proceed: Callable[[], Answer], /
) -> Answer:
    """ListOffsets: special timestamps that came with 3.0 and later are ordinary times, before all records."""
    for topic in request.topics:
        for partition in topic.partitions:
            if partition.timestamp < _LOWEST_SPECIAL:
                partition.timestamp = 0
    return proceed()


def case_sensitive_states(
    _broker: Broker, _ctx: RequestContext, request: ListGroupsRequest, proceed: Callable[[], Answer], /
) -> Answer:
    """ListGroups: the state filter is case-sensitive."""
    request.states_filter = [state if state in _STATES else f"not {state}" for state in request.states_filter]
    return proceed()


_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")


def topics_with_results(_broker: Broker, _ctx: RequestContext, _request: Any, response: ElectLeadersResponse) -> None:
    """ElectLeaders: topics without a requested partition are left out."""
    found = response.replica_election_results
    response.replica_election_results = [topic for topic in found if topic.partition_result]


def empty_messages(_broker: Broker, _ctx: RequestContext, _request: Any, response: Any) -> None:
    """Reassignments: without an error the message is empty; later it is null."""
    if not response.error_code:
        response.error_message = ""


def unknown_partitions(
    _broker: Broker, _ctx: RequestContext, _request: Any, response: DescribeProducersResponse
) -> None:
    """DescribeProducers: an invalid topic name is UNKNOWN_TOPIC_OR_PARTITION, without a message."""
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code:
                partition.error_message = None
            if partition.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def messages_without_authorizer(_broker: Broker, _ctx: RequestContext, _request: Any, response: Any) -> None:
    """CreateAcls and DeleteAcls: the message without an authorizer."""
    results = response.results if hasattr(response, "results") else response.filter_results
    for result in results:
        if result.error_code == ErrorCode.SECURITY_DISABLED:
            result.error_message = "No Authorizer is configured on the broker."


def without_times(_broker: Broker, _ctx: RequestContext, _request: Any, response: Any) -> None:
    """CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken: errors have no timestamps."""
    if response.error_code:
        for name in ("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"):
            if hasattr(response, name):
                setattr(response, name, -1)


def refused_values(_broker: Broker, _ctx: RequestContext, _request: Any, response: Any) -> None:
    """AlterConfigs and IncrementalAlterConfigs: an invalid value is INVALID_REQUEST; the message names the resource."""
    for result in response.responses:
        text = result.error_message or ""
        if result.error_code == ErrorCode.INVALID_CONFIG and text.startswith(("Invalid value ", "Can't ")):
            result.error_code = ErrorCode.INVALID_REQUEST
        if text.startswith(("Invalid value ", "Cannot update these configs ")):
            kind = _KINDS.get(result.resource_type, "UNKNOWN")
            name = result.resource_name
            result.error_message = (
                f"Invalid config value for resource ConfigResource(type={kind}, name='{name}'): {text}"
            )


_KINDS: Final = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER"}
