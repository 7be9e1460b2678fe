"""Client quotas (KIP-13, KIP-546, KIP-612): validation, records and queries.

The room ``quotas`` enforces them. Rules and messages: ClientQuotaControlManager and
ClientQuotasImage of Kafka 4.4.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pykbroker.metadata.image import MetadataImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.client_quota_record import ClientQuotaRecord, EntityData

USER, CLIENT_ID, IP = "user", "client-id", "ip"

#: ((entity type, name or None for the default), ...), sorted by type: as the keys of ``MetadataImage.client_quotas``.
Entity = tuple[tuple[str, str | None], ...]

_MAX_LONG, _MAX_INT = 2**63 - 1, 2**31 - 1
#: Quota keys with their largest value if they are whole numbers; None if fractions are allowed.
_USER_AND_CLIENT_KEYS: dict[str, int | None] = {
    "producer_byte_rate": _MAX_LONG,
    "consumer_byte_rate": _MAX_LONG,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_KEYS: dict[str, int | None] = {"connection_creation_rate": _MAX_INT}
_SIZES = {_MAX_LONG: "a LONG", _MAX_INT: "an INT"}
#: The largest distance from a whole number at which a value counts as one.
_EPSILON = 1e-6
#: The order in which Kafka writes an entity's parts.
_TEXT_ORDER = (CLIENT_ID, USER, IP)


@dataclass(slots=True)
class QuotaAlteration:
    """The changes of one entity's quotas: (key, value) pairs, None to remove."""

    entity: Entity
    operations: Sequence[tuple[str, float | None]]


class MatchType(IntEnum):
    """What a filter matches in an entity's part: a name, the default, or any."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


@dataclass(slots=True)
class EntityFilter:
    """One component of a filter."""

    entity_type: str
    match_type: int
    match: str | None


def entity_of(parts: Iterator[tuple[str, str | None]]) -> Entity:
    """An entity from its parts; of two parts of one type the later is used."""
    return tuple(sorted(dict(parts).items()))


def plan_alterations(
    image: MetadataImage, alterations: Sequence[QuotaAlteration], unknown_hosts: frozenset[str]
) -> tuple[list[ClientQuotaRecord], dict[Entity, KafkaError | None]]:
    """The records of the changes, and the error of each entity, or None.

    An error in one change of an entity refuses all of its changes. ``unknown_hosts`` are names of ip entities that are
    neither addresses nor resolvable.
    """
    records: list[ClientQuotaRecord] = []
    results: dict[Entity, KafkaError | None] = {}
    for alteration in alterations:
        entity = alteration.entity
        wanted = dict(alteration.operations)
        try:
            if entity in results or len(wanted) < len(alteration.operations):
                raise _refusal(f"Ignoring duplicate entity {_text(entity)}")
            _check_entity(entity, unknown_hosts)
            _check_values(entity, wanted)
        except KafkaError as error:
            results[entity] = error.kept()
            continue
        results[entity] = None
        records += _changes(image, entity, wanted)
    return records, results


def find_quotas(
    image: MetadataImage, filters: Sequence[EntityFilter], *, strict: bool
) -> Iterator[tuple[Entity, Mapping[str, float]]]:
    """The entities that have every part of a filter, and with ``strict`` no other, with their quotas.

    Raises KafkaError INVALID_REQUEST or UNSUPPORTED_VERSION.
    """
    wanted: dict[str, EntityFilter] = {}
    for component in filters:
        _check_filter(component, wanted)
        wanted[component.entity_type] = component
    if IP in wanted and len(wanted) > 1:
        raise _refusal(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    return (
        (entity, quotas)
        for entity, quotas in image.client_quotas.items()
        if (not strict or len(entity) == len(wanted)) and _matches(dict(entity), wanted)
    )


def _check_entity(entity: Entity, unknown_hosts: frozenset[str]) -> None:
    if not entity:
        raise _refusal("Invalid empty client quota entity")
    parts = dict(entity)
    for kind, name in entity:
        if kind not in _TEXT_ORDER:
            raise _refusal(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _refusal(f"Empty {kind} not supported")
    if IP in parts and len(parts) > 1:
        raise _refusal("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    if parts.get(IP) in unknown_hosts:
        raise _refusal(f"{parts[IP]} is not a valid IP or resolvable host.")


def _check_values(entity: Entity, wanted: Mapping[str, float | None]) -> None:
    keys = _IP_KEYS if entity[0][0] == IP else _USER_AND_CLIENT_KEYS
    for key, value in wanted.items():
        if value is None:
            continue
        if key not in keys:
            raise _refusal(f"Invalid configuration key {key}")
        if not math.isfinite(value):
            raise _refusal(f"Quota {key} must be a finite number")
        if value <= 0:
            raise _refusal(f"Quota {key} must be greater than 0")
        largest = keys[key]
        if largest is None:
            continue
        if value > largest:
            raise _refusal(f"Proposed value for {key} is too large for {_SIZES[largest]}.")
        if math.isfinite(value) and abs(int(value + _EPSILON) - value) > _EPSILON:  # Kafka takes NaN, too
            raise _refusal(f"{key} cannot be a fractional value.")


def _changes(image: MetadataImage, entity: Entity, wanted: Mapping[str, float | None]) -> Iterator[ClientQuotaRecord]:
    """Records for values that differ from the present ones."""
    now = image.client_quotas.get(entity, {})
    for key, value in wanted.items():
        if now.get(key) != value:
            parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            yield ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None)


def _check_filter(component: EntityFilter, before: Mapping[str, EntityFilter]) -> None:
    kind = component.entity_type
    if not kind:
        raise _refusal("Invalid empty entity type.")
    if kind in before:
        raise _refusal(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in _TEXT_ORDER:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    match component.match_type:
        case MatchType.EXACT:
            if component.match is None:
                raise _refusal("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        case MatchType.DEFAULT | MatchType.SPECIFIED:
            if component.match is not None:
                name = MatchType(component.match_type).name
                raise _refusal(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
        case unknown:
            raise _refusal(f"Unknown match type {unknown}")


def _matches(parts: Mapping[str, str | None], wanted: Mapping[str, EntityFilter]) -> bool:
    return all(
        kind in parts and (component.match_type == MatchType.SPECIFIED or parts[kind] == component.match)
        for kind, component in wanted.items()
    )


def _text(entity: Entity) -> str:
    parts = dict(entity)
    ordered = [kind for kind in _TEXT_ORDER if kind in parts] + [kind for kind in parts if kind not in _TEXT_ORDER]
    shown = ", ".join(f"{kind}={'null' if parts[kind] is None else parts[kind]}" for kind in ordered)
    return f"ClientQuotaEntity(entries={{{shown}}})"


def _refusal(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
