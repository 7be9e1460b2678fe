"""Alterations of the settings of resources (KIP-133, KIP-339): the operations as values, and the records of a request.

What an alteration makes of the present settings, and which values are valid, is decided by the room ``config``, whose planner the
controller is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

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


#: Called with the image, an alteration and the id of the asked broker; returns the new values as text, None for a removed setting.
#: Raises KafkaError for an alteration that is not valid on the image's settings.
PlanAlteration = Callable[[MetadataImage, Alteration, int], Mapping[str, str | None]]


def plan_alterations(
    image: MetadataImage, alterations: Sequence[Alteration], broker_id: int, plan: PlanAlteration
) -> tuple[list[MetadataRecord], list[KafkaError | None]]:
    """The records of the valid alterations, and the error of each. Unchanged settings are left out, except those of brokers: they
    may name a file that has changed.
    """
    records: list[ConfigRecord] = []
    errors: list[KafkaError | None] = []
    for alteration in alterations:
        try:
            changed = plan(image, alteration, broker_id)
            check_min_isr(image, alteration.resource_type, alteration.resource_name, changed)
        except KafkaError as error:
            errors.append(error)
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
