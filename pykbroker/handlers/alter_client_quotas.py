"""AlterClientQuotas (key 49, versions 0 to 1): set and remove quotas of users, clients and addresses (KIP-546, KIP-612).

Changes are in force when the answer leaves. Host names are resolved, as in Kafka, in a thread. v1: flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.controller.client_quotas import IP, Entity, QuotaAlteration, entity_of
from pykbroker.handlers.in_slices import flat, in_turn
from pykbroker.runtime.hosts import is_address, unknown_hosts
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Entities whose quotas are altered together.
_AT_ONCE = 25


def handle(
    broker: Broker, ctx: RequestContext, request: AlterClientQuotasRequest
) -> Deferred[AlterClientQuotasResponse]:
    names = {name for entry in request.entries for kind, name in _entity(entry) if kind == IP and name}
    to_look_up = frozenset(name for name in names if not is_address(name))
    if not to_look_up:
        return _altered(broker, ctx, request, to_look_up)
    return broker.runtime.offload(unknown_hosts, to_look_up).chain(partial(_altered, broker, ctx, request))


def failed(request: AlterClientQuotasRequest, version: int, error: KafkaError) -> AlterClientQuotasResponse:
    """The request as a whole is refused: every entity carries the error."""
    del version
    return AlterClientQuotasResponse(entries=[_result(_entity(entry), error) for entry in request.entries])


def _altered(
    broker: Broker, ctx: RequestContext, request: AlterClientQuotasRequest, unknown: frozenset[str]
) -> Deferred[AlterClientQuotasResponse]:
    def alter(some: Sequence[AlterClientQuotasRequestEntryData]) -> Deferred[list[AlterClientQuotasResponseEntryData]]:
        alterations = [
            QuotaAlteration(_entity(entry), [(op.key, None if op.remove else op.value) for op in entry.ops])
            for entry in some
        ]
        altered = broker.controller.alter_client_quotas(alterations, unknown, validate_only=request.validate_only)
        return altered.map(lambda results: [_result(entity, error) for entity, error in results.items()])

    answered = in_turn(broker, ctx, request.entries, alter, _AT_ONCE)
    return answered.map(lambda entries: AlterClientQuotasResponse(entries=flat(entries)))


def _entity(entry: AlterClientQuotasRequestEntryData) -> Entity:
    return entity_of((part.entity_type, part.entity_name) for part in entry.entity)


def _result(entity: Entity, error: KafkaError | None) -> AlterClientQuotasResponseEntryData:
    return AlterClientQuotasResponseEntryData(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
    )
