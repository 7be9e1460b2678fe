"""DeleteGroups (key 42), versions 0 to 3: remove groups that have no members, with their offsets (KIP-229).

The message of version 3 is null, as Kafka's is except for what its plug-ins refuse.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import each
from pykbroker.handlers.sharing.states import forget_group
from pykbroker.runtime.waits import apply, as_wait, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest


#: The weight of deleting a group with its offsets.
_WEIGHT = 8


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse | Deferred[DeleteGroupsResponse]:
    deleted = each(broker, ctx, request.groups_names, partial(_delete, broker), weight=_WEIGHT, once=str)
    return apply(lambda results: DeleteGroupsResponse(results=results), deleted)


def _delete(broker: Broker, group_id: str) -> Deferred[DeletableGroupResult]:
    def delete(_: object) -> Deferred[ErrorCode]:
        return as_wait(broker.groups.delete_group(group_id))

    asked = attempt(forget_group, broker, group_id).chain(delete)
    deleted = asked.recover(KafkaError, lambda error: error.code)
    return deleted.map(lambda code: DeletableGroupResult(group_id=group_id, error_code=code))
