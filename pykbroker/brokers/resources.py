"""The rules shared by AlterConfigs and IncrementalAlterConfigs: who may alter what. ``config/resources.py`` says what is valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from pykbroker.config.alteration import check_form, settings_after
from pykbroker.config.resources import check_resource_type, planned
from pykbroker.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from pykbroker.runtime.waits import Deferred
from pykbroker.security.operations import ALTER_CONFIGS
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.security.context import RequestContext


class RequestedResource(Protocol):
    """A resource as either request contains it."""

    @property
    def resource_type(self) -> int:
        """The kind of the resource."""
        ...

    @property
    def resource_name(self) -> str:
        """Its name."""
        ...


Response = TypeVar("Response")


def responses(
    make: Callable[..., Response], requested: Iterable[RequestedResource], errors: Iterable[KafkaError | None]
) -> list[Response]:
    """The answer for each resource of either request; ``make`` is the class of the answers."""
    return [
        make(
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.message or None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, error in zip(requested, errors, strict=True)
    ]


def check_access(broker: Broker, ctx: RequestContext | None, operation: int, resource_type: int, name: str) -> None:
    """Check that the client may do ``operation`` on a resource's settings. Raises KafkaError TOPIC_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED, or for all other resources CLUSTER_AUTHORIZATION_FAILED.
    """
    authorizer = broker.authorizer
    if authorizer is None or ctx is None:
        return
    kind, code = _ACCESS.get(resource_type, (CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    if not authorizer.may(ctx, operation, kind, CLUSTER_NAME if kind == CLUSTER else name):
        silent = operation == ALTER_CONFIGS and resource_type in _REFUSED_SILENTLY
        raise KafkaError(code, "" if silent else None)


_ACCESS = {
    TOPIC_RESOURCE: (TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    GROUP_RESOURCE: (GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}
#: Apache Kafka 4.4.0 leaves the message out where a broker decides by itself.
_REFUSED_SILENTLY = (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE)


def times_named(requested: Iterable[RequestedResource]) -> Mapping[tuple[int, str], int]:
    """How often each resource is named."""
    return Counter([(resource.resource_type, resource.resource_name) for resource in requested])


def alter_resources(
    broker: Broker,
    ctx: RequestContext | None,
    alterations: Sequence[Alteration],
    *,
    loggers: bool,
    validate_only: bool,
    times: Mapping[tuple[int, str], int] | None = None,
) -> Deferred[list[KafkaError | None]]:
    """Authorize every resource separately, and let the controller commit the valid ones together. Answers in the order given.
    Without ``ctx`` the request comes from the broker itself and is not authorized. ``times`` is how often the whole request
    names each resource, if these are a part of it.

    With ``loggers`` the request may name loggers, whose levels change at once and do not survive a restart (KIP-412).
    Fails with KafkaError KAFKA_STORAGE_ERROR if the metadata log cannot be written: then no setting has changed.
    """
    answers: list[KafkaError | None] = []
    requested: list[int] = []  # the places of those that are the controller's to decide
    named = times_named(alterations) if times is None else times
    for place, alteration in enumerate(alterations):
        try:
            if named[alteration.resource_type, alteration.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            check_form(alteration.changes)
            if alteration.resource_type == BROKER_LOGGER_RESOURCE and loggers:
                _alter_loggers(broker, ctx, alteration, validate_only=validate_only)
            else:
                _check(broker, ctx, alteration)
                requested.append(place)
            answers.append(None)
        except KafkaError as error:
            answers.append(error)
    if not requested:
        return Deferred.completed(answers)

    def decided(errors: list[KafkaError | None]) -> list[KafkaError | None]:
        for place, error in zip(requested, errors, strict=True):
            answers[place] = error
        return answers

    return (
        broker.controller_for(ctx)
        .alter_configs(
            [alterations[place] for place in requested], broker_id=broker.node_id, validate_only=validate_only
        )
        .map(decided)
    )


def _alter_loggers(broker: Broker, ctx: RequestContext | None, alteration: Alteration, *, validate_only: bool) -> None:
    resource_type, name, changes, _ = alteration
    _check_is_this_broker(broker, name, "Unexpected node id. Expected")
    check_access(broker, ctx, ALTER_CONFIGS, resource_type, name)
    broker.log_levels.alter(changes, validate_only=validate_only)
    if broker.authorizer is not None:
        broker.authorizer.forget()  # the authorizer's logger may have a new level


def _check(broker: Broker, ctx: RequestContext | None, alteration: Alteration) -> None:
    """Authorize one resource, and validate settings of a broker; all others are the controller's to validate."""
    resource_type, name = alteration.resource_type, alteration.resource_name
    check_resource_type(resource_type)
    check_access(broker, ctx, ALTER_CONFIGS, resource_type, name)
    if resource_type == BROKER_RESOURCE:
        _check_broker(broker, alteration)


def _check_broker(broker: Broker, alteration: Alteration) -> None:
    """Validate settings of this broker, or of all, on the metadata of now. What its listeners make of them only the broker knows."""
    name, image = alteration.resource_name, broker.metadata.image
    if name:
        _check_is_this_broker(broker, name, "Unexpected broker id, expected")
    changed = planned(broker.config, image, alteration, broker.node_id)
    check_listeners = broker.check_listeners
    if check_listeners is not None and name:
        check_listeners(settings_after(image.config(BROKER_RESOURCE, name), changed))


def _check_is_this_broker(broker: Broker, name: str, unexpected: str) -> None:
    """Raise KafkaError INVALID_REQUEST unless the resource name is this broker's id; ``unexpected`` begins the message."""
    try:
        node_id = int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
    if node_id != broker.node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{unexpected} {broker.node_id}, but received {name}")
