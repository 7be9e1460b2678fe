"""The rules shared by AlterConfigs and IncrementalAlterConfigs: what may be altered, by whom, and which values are valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from pykbroker.config.alteration import Change, check_form, settings_after
from pykbroker.config.dynamic import check_broker_configs
from pykbroker.config.validation import check_client_metrics_configs, check_group_configs, check_topic_configs
from pykbroker.controller.eligible_leaders import check_min_isr
from pykbroker.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from pykbroker.metadata.names import validate_topic_name
from pykbroker.security.operations import ALTER_CONFIGS
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.port import ConfigChanges
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


class Alteration(NamedTuple):
    """One resource of a request and the changes to its settings."""

    resource_type: int
    resource_name: str
    changes: list[Change]


Plan = Callable[[int, list[Change], Mapping[str, str]], Mapping[str, str | None]]
"""From resource type, changes and present settings to the new values as text, None for a removed setting."""


class Asked(Protocol):
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
    make: Callable[..., Response], asked: Iterable[Asked], errors: Iterable[KafkaError | None]
) -> list[Response]:
    """The answer for each resource of either request; ``make`` is the class of the answers."""
    return [
        make(
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, error in zip(asked, errors, strict=True)
    ]


def check_access(broker: Broker, ctx: RequestContext | None, operation: int, resource_type: int, name: str) -> None:
    """Check that the client may do ``operation`` on a resource's settings. Raises KafkaError TOPIC_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED, or for all other resources CLUSTER_AUTHORIZATION_FAILED.
    """
    authorizer = broker.cluster.authorizer
    if authorizer is None or ctx is None:
        return
    kind, code = _ACCESS.get(resource_type, (CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    if not authorizer.may(ctx, operation, kind, CLUSTER_NAME if kind == CLUSTER else name):
        raise KafkaError(code)


_ACCESS = {
    TOPIC_RESOURCE: (TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    GROUP_RESOURCE: (GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}


def times_named(asked: Iterable[Asked]) -> Mapping[tuple[int, str], int]:
    """How often each resource is named."""
    return Counter([(resource.resource_type, resource.resource_name) for resource in asked])


def alter_resources(
    broker: Broker,
    ctx: RequestContext | None,
    alterations: Sequence[Alteration],
    plan: Plan,
    *,
    loggers: bool,
    validate_only: bool,
    times: Mapping[tuple[int, str], int] | None = None,
) -> Deferred[list[KafkaError | None]]:
    """Validate every resource separately and commit the valid ones together. Answers in the order given.
    Without ``ctx`` the request comes from the broker itself and is not authorized. ``times`` is how often the whole request
    names each resource, if these are a part of it.

    With ``loggers`` the request may name loggers, whose levels change at once and do not survive a restart (KIP-412).
    Fails with KafkaError KAFKA_STORAGE_ERROR if the metadata log cannot be written: then no setting has changed.
    """
    answers: list[KafkaError | None] = []

    named = times_named(alterations) if times is None else times

    def changes() -> ConfigChanges:
        good = _checked(broker, ctx, alterations, plan, answers, named, loggers=loggers, validate_only=validate_only)
        return {} if validate_only else good

    return broker.cluster.controller.alter_configs(changes).map(lambda _: answers)


def _checked(
    broker: Broker,
    ctx: RequestContext | None,
    alterations: Sequence[Alteration],
    plan: Plan,
    answers: list[KafkaError | None],
    times: Mapping[tuple[int, str], int],
    *,
    loggers: bool,
    validate_only: bool,
) -> ConfigChanges:
    """The settings to commit; errors are added to ``answers``."""
    commits: dict[tuple[int, str], Mapping[str, str | None]] = {}
    for alteration in alterations:
        key = (alteration.resource_type, alteration.resource_name)
        try:
            if times[key] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            check_form(alteration.changes)
            if alteration.resource_type == BROKER_LOGGER_RESOURCE and loggers:
                _check_is_this_broker(broker, alteration.resource_name, "Unexpected node id. Expected")
                check_access(broker, ctx, ALTER_CONFIGS, *key)
                broker.cluster.log_levels.alter(alteration.changes, validate_only=validate_only)
                if broker.cluster.authorizer is not None:
                    broker.cluster.authorizer.forget()  # the authorizer's logger may have a new level
            else:
                commits[key] = _planned(broker, ctx, alteration, plan)
            answers.append(None)
        except KafkaError as error:
            answers.append(error)
    return commits


def _planned(
    broker: Broker, ctx: RequestContext | None, alteration: Alteration, plan: Plan
) -> Mapping[str, str | None]:
    """Validate and authorize one resource. Settings of a broker are validated before authorization, all others after it,
    as in Kafka, where the broker handles the former and the controller the latter.
    """
    resource_type, name, changes = alteration
    check = _CHECKS.get(resource_type)
    if check is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")
    if resource_type == BROKER_RESOURCE and name:
        _check_is_this_broker(broker, name, "Unexpected broker id, expected")
    if resource_type != BROKER_RESOURCE:
        check_access(broker, ctx, ALTER_CONFIGS, resource_type, name)
    now = broker.cluster.metadata.image.config(resource_type, name)
    changed = plan(resource_type, changes, now)
    check(broker, name, settings_after(now, changed))
    if resource_type == BROKER_RESOURCE:
        check_access(broker, ctx, ALTER_CONFIGS, resource_type, name)
    check_min_isr(broker.cluster.metadata.image, resource_type, name, changed)
    return changed


def _check_topic(broker: Broker, name: str, settings: Mapping[str, str]) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    validate_topic_name(name)
    check_topic_configs(broker.cluster.config, settings)
    if broker.cluster.metadata.image.topic(name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def _check_broker(broker: Broker, name: str, settings: Mapping[str, str]) -> None:
    image = broker.cluster.metadata.image
    others = image.config(BROKER_RESOURCE, "" if name else str(broker.node_id))
    check_broker_configs(broker.cluster.config, settings, per_broker=bool(name), others=others)
    check_listeners = broker.cluster.check_listeners
    if check_listeners is not None and name:
        check_listeners(broker.node_id, settings)


def _check_group(broker: Broker, name: str, settings: Mapping[str, str]) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    check_group_configs(broker.cluster.config, settings)


def _check_client_metrics(_broker: Broker, name: str, settings: Mapping[str, str]) -> None:
    check_client_metrics_configs(name, settings)


_CHECKS = {
    TOPIC_RESOURCE: _check_topic,
    BROKER_RESOURCE: _check_broker,
    GROUP_RESOURCE: _check_group,
    CLIENT_METRICS_RESOURCE: _check_client_metrics,
}


def _check_is_this_broker(broker: Broker, name: str, unexpected: str) -> None:
    """Raise KafkaError INVALID_REQUEST unless the resource name is this broker's id; ``unexpected`` begins the message."""
    try:
        node_id = int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
    if node_id != broker.node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{unexpected} {broker.node_id}, but received {name}")
