"""The resources whose settings are kept in the metadata: what an alteration makes of them, and whether that is valid.

The controller decides by this in its turn; for a broker's own settings the broker does so before, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pykbroker.config.alteration import altered, replaced, settings_after
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.dynamic import check_broker_configs
from pykbroker.config.validation import check_client_metrics_configs, check_group_configs, check_topic_configs
from pykbroker.controller.config_alterations import Alteration
from pykbroker.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from pykbroker.metadata.names import validate_topic_name
from pykbroker.wire.errors import ErrorCode, KafkaError


def check_resource_type(resource_type: int) -> None:
    """Raises KafkaError INVALID_REQUEST for a type of resource without settings in the metadata."""
    if resource_type not in _CHECKS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")


def planned(
    config: BrokerConfig, image: MetadataImage, alteration: Alteration, broker_id: int
) -> Mapping[str, str | None]:
    """The new values of a resource's settings as text, None for a removed one. A default for all brokers is checked together with
    the settings of the broker ``broker_id``. Raises KafkaError INVALID_CONFIG, INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION or UNKNOWN_TOPIC_OR_PARTITION for what is not valid on the image's settings.
    """
    resource_type, name, changes, replaces = alteration
    check_resource_type(resource_type)
    now = image.config(resource_type, name)
    changed = replaced(changes, now) if replaces else altered(resource_type, changes, now)
    _CHECKS[resource_type](config, image, name, settings_after(now, changed), broker_id)
    return changed


def _check_topic(
    config: BrokerConfig, image: MetadataImage, name: str, settings: Mapping[str, str], _broker_id: int
) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    validate_topic_name(name)
    check_topic_configs(config, settings)
    if image.topic(name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def _check_broker(
    config: BrokerConfig, image: MetadataImage, name: str, settings: Mapping[str, str], broker_id: int
) -> None:
    others = image.config(BROKER_RESOURCE, "" if name else str(broker_id))
    check_broker_configs(config, settings, per_broker=bool(name), others=others)


def _check_group(
    config: BrokerConfig, _image: MetadataImage, name: str, settings: Mapping[str, str], _broker_id: int
) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    check_group_configs(config, settings)


def _check_client_metrics(
    _config: BrokerConfig, _image: MetadataImage, name: str, settings: Mapping[str, str], _broker_id: int
) -> None:
    check_client_metrics_configs(name, settings)


_CHECKS: Final[dict[int, Callable[[BrokerConfig, MetadataImage, str, Mapping[str, str], int], None]]] = {
    TOPIC_RESOURCE: _check_topic,
    BROKER_RESOURCE: _check_broker,
    GROUP_RESOURCE: _check_group,
    CLIENT_METRICS_RESOURCE: _check_client_metrics,
}
