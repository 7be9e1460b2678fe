"""DescribeClientQuotas (key 48, versions 0 to 1): the quotas of the entities that a filter finds (KIP-546).

v1: flexible. Nothing but the quotas that were set is described: a default is an entity of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.client_quotas import EntityFilter, find_quotas
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


def handle(broker: Broker, ctx: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    filters = [EntityFilter(part.entity_type, part.match_type, part.match) for part in request.components]
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=value) for key, value in quotas.items()],
            )
            for entity, quotas in find_quotas(broker.cluster.metadata.image, filters, strict=request.strict)
        ]
    )


def failed(request: DescribeClientQuotasRequest, version: int, error: KafkaError) -> DescribeClientQuotasResponse:
    """A filter that means nothing; null entries, as with Kafka."""
    del request, version
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.given_message, entries=None)
