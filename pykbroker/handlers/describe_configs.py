"""DescribeConfigs (key 32, versions 1 to 4): settings of topics, brokers, loggers, groups, client metrics subscriptions.

- v1: sources and synonyms (KIP-226). v3: types, and documentation on request (KIP-569). v4: flexible.
- A broker describes itself and, for an empty name, the cluster-wide dynamic settings; another broker's id is refused.
- A group or subscription without settings of its own is described by the defaults (KIP-714, KIP-1043), never unknown.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.brokers.resources import check_access
from pykbroker.config import describe, loggers
from pykbroker.config.layers import Layers, Source
from pykbroker.handlers.in_slices import each
from pykbroker.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from pykbroker.metadata.names import validate_topic_name
from pykbroker.runtime.waits import apply
from pykbroker.security.operations import DESCRIBE_CONFIGS
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: The weight of describing a resource: some thirty settings, most of them with synonyms.
_WEIGHT = 20


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Deferred[DescribeConfigsResponse]:
    if any(resource.resource_type not in _DESCRIBERS for resource in request.resources):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    results = each(broker, ctx, request.resources, partial(_result, broker, ctx, request), weight=_WEIGHT, once=_key)
    return apply(lambda found: DescribeConfigsResponse(results=found), results)


def _key(resource: DescribeConfigsResource) -> tuple[int, str, tuple[str, ...]]:
    return resource.resource_type, resource.resource_name, tuple(resource.configuration_keys or ())


def failed(request: DescribeConfigsRequest, version: int, error: KafkaError) -> DescribeConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return DescribeConfigsResponse(results=[_refusal(resource, error) for resource in request.resources])


def _result(
    broker: Broker, ctx: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        check_access(broker, ctx, DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name)
        entries = _DESCRIBERS[resource.resource_type](broker, resource.resource_name)
    except KafkaError as error:
        return _refusal(resource, error)
    wanted = set(resource.configuration_keys or ())
    configs = [_config(entry, request.include_synonyms) for entry in entries if not wanted or entry.name in wanted]
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        for config in configs:
            config.documentation = ""  # Kafka answers the schema's default, whatever the request says
    elif request.include_documentation:
        _document(resource.resource_type, configs)
    return DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=configs
    )


def _refusal(resource: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _config(entry: describe.ConfigEntry, include_synonyms: bool) -> DescribeConfigsResourceResult:
    synonyms = [
        DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
        for synonym in (entry.synonyms if include_synonyms else ())
    ]
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=None,
    )


def _document(resource_type: int, configs: list[DescribeConfigsResourceResult]) -> None:
    from pykbroker.config.documentation import documentation

    for config in configs:
        config.documentation = documentation(resource_type, config.name)


def _describe_topic(broker: Broker, name: str) -> list[describe.ConfigEntry]:
    validate_topic_name(name)
    image = broker.metadata.image
    if image.topic(name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")  # Kafka sends no message with this error
    return describe.describe_topic(broker.config, image.topic_config(name))


def _describe_broker(broker: Broker, name: str) -> list[describe.ConfigEntry]:
    if not name:
        return describe.describe_cluster_default(_layers(broker))
    if _broker_id(name) != broker.node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.node_id} or empty string, but received {name}",
        )
    return describe.describe_broker(_layers(broker))


def _describe_loggers(broker: Broker, name: str) -> list[describe.ConfigEntry]:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    if _broker_id(name) != broker.node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {broker.node_id} but received {name}"
        )
    return [
        describe.ConfigEntry(logger, level, Source.DYNAMIC_BROKER_LOGGER_CONFIG, [], describe.UNKNOWN_TYPE)
        for logger, level in loggers.levels().items()
    ]


def _describe_client_metrics(broker: Broker, name: str) -> list[describe.ConfigEntry]:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
    return describe.describe_client_metrics(broker.metadata.image.config(CLIENT_METRICS_RESOURCE, name))


def _describe_group(broker: Broker, name: str) -> list[describe.ConfigEntry]:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    overrides = broker.metadata.image.config(GROUP_RESOURCE, name)
    return describe.describe_group(broker.config, overrides)


_DESCRIBERS = {
    TOPIC_RESOURCE: _describe_topic,
    BROKER_RESOURCE: _describe_broker,
    BROKER_LOGGER_RESOURCE: _describe_loggers,
    CLIENT_METRICS_RESOURCE: _describe_client_metrics,
    GROUP_RESOURCE: _describe_group,
}


def _layers(broker: Broker) -> Layers:
    """The layers of this broker's settings. The file holds those of the process's first broker; the others differ in node id
    and listeners.
    """
    image, config = broker.metadata.image, broker.config
    node_id = str(broker.node_id)
    own = {"node.id": node_id, "broker.id": node_id}
    if broker.rack is not None:
        own["broker.rack"] = broker.rack
    if broker.node_id != config.node_id:
        addresses = ",".join(f"{endpoint.listener}://{endpoint.host}:{endpoint.port}" for endpoint in broker.endpoints)
        own |= {"listeners": addresses, "advertised.listeners": addresses}
    this_broker, every_broker = image.config(BROKER_RESOURCE, node_id), image.config(BROKER_RESOURCE, "")
    return Layers(this_broker, every_broker, {**config.explicit, **own}, config.definitions)


def _broker_id(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}") from None
