"""Alterations of the settings of resources (KIP-133, KIP-339): the operations as values, and the records of a request.

What an alteration makes of the present settings, and which values are valid, is decided by the room ``config``, whose rules the
controller is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from pykbroker.controller.eligible_leaders import check_min_isr, clearing_records
from pykbroker.metadata.image import BROKER_RESOURCE, MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord


class Operation(IntEnum):
    """The operation on a setting. The numbers are those of IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One setting of a request. ``value`` may be None only for DELETE."""

    name: str
    operation: int
    value: str | None


class Alteration(NamedTuple):
    """One resource of a request and the changes to its settings. With ``replaces`` those are set, and all others removed."""

    resource_type: int
    resource_name: str
    changes: Sequence[Change]
    replaces: bool = False


class ConfigRules(Protocol):
    """What the controller is told of settings."""

    def check_topic_configs(self, configs: Mapping[str, str], /) -> None:
        """Check the settings of a new topic. Raises KafkaError INVALID_CONFIG."""
        ...

    def plan_alteration(
        self, image: MetadataImage, alteration: Alteration, broker_id: int, /
    ) -> Mapping[str, str | None]:
        """The new values as text, None for a removed setting. ``broker_id`` is the asked broker. Raises KafkaError INVALID_CONFIG,
        INVALID_REQUEST, INVALID_TOPIC_EXCEPTION or UNKNOWN_TOPIC_OR_PARTITION for what is not valid on the image's settings.
        """
        ...


def plan_alterations(
    image: MetadataImage, alterations: Sequence[Alteration], broker_id: int, rules: ConfigRules
) -> tuple[list[MetadataRecord], list[KafkaError | None]]:
    """The records of the valid alterations, and the error of each. Unchanged settings are left out, except those of brokers: they
    may name a file that has changed.
    """
    records: list[ConfigRecord] = []
    errors: list[KafkaError | None] = []
    for alteration in alterations:
        try:
            changed = rules.plan_alteration(image, alteration, broker_id)
            check_min_isr(image, alteration.resource_type, alteration.resource_name, changed)
        except KafkaError as error:
            errors.append(error.kept())
        else:
            records += _records(image, alteration.resource_type, alteration.resource_name, changed)
            errors.append(None)
    return [*records, *clearing_records(image, records)], errors


def _records(
    image: MetadataImage, resource_type: int, name: str, changed: Mapping[str, str | None]
) -> list[ConfigRecord]:
    now = image.config(resource_type, name)
    return [
        ConfigRecord(resource_type=resource_type, resource_name=name, name=setting, value=value)
        for setting, value in changed.items()
        if now.get(setting) != value or (resource_type == BROKER_RESOURCE and value is not None)
    ]
