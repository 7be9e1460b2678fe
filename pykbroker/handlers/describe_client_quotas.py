"""DescribeClientQuotas (key 48, versions 0 to 1): the quotas of the entities that a filter finds (KIP-546).

Only quotas that were set are described: a default is an entity of its own. Entities and quotas come in the iteration order of
Kafka's maps; in one bucket, in the order in which a single request would have set them. v1: flexible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from pykbroker.controller.client_quotas import Entity, EntityFilter, find_quotas
from pykbroker.metadata.java_maps import hash_of_map, hash_of_text, in_map_order
from pykbroker.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError

T = TypeVar("T")


def handle(broker: Broker, ctx: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    filters = [EntityFilter(part.entity_type, part.match_type, part.match) for part in request.components]
    image = broker.metadata.image
    found = dict(find_quotas(image, filters, strict=request.strict))
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=found[entity][key]) for key in _as_set(found[entity], hash_of_text)],
            )
            for entity in _as_set(image.client_quotas, _hash_of_entity)
            if entity in found
        ]
    )


def _as_set(keys: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """The keys in the order they have after passing through the map of one request's changes, of 16 buckets."""
    return in_map_order(in_map_order(keys, hash_of, at_least=16), hash_of)


def _hash_of_entity(entity: Entity) -> int:
    return 31 + hash_of_map(dict(entity)) & 0xFFFF_FFFF


def failed(request: DescribeClientQuotasRequest, version: int, error: KafkaError) -> DescribeClientQuotasResponse:
    """The filter is invalid: the answer has null entries, as in Kafka."""
    del request, version
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.given_message, entries=None)
