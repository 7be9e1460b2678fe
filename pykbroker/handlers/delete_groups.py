"""DeleteGroups (key 42), versions 0 to 2: remove groups that have no members, with their offsets (KIP-229)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import ErrorCode
    from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest


def handle(broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    group_ids = list(dict.fromkeys(request.groups_names))
    return gather([_delete(broker, group_id) for group_id in group_ids]).map(
        lambda codes: DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=group_id, error_code=code)
                for group_id, code in zip(group_ids, codes, strict=True)
            ]
        )
    )


def _delete(broker: Broker, group_id: str) -> Deferred[ErrorCode]:
    """Delete one group; returns its result."""
    deleted = attempt(broker.cluster.groups.delete_group, broker, group_id)
    return deleted.recover(KafkaError, lambda error: error.code)
