"""DeleteGroups (key 42), versions 0 to 2: remove groups that have no members, with their offsets (KIP-229)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, all_done
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import ErrorCode
    from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest


def handle(broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    deletions = {group_id: _delete(broker, group_id) for group_id in dict.fromkeys(request.groups_names)}
    return all_done(deletions.values()).map(
        lambda _: DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=group_id, error_code=_outcome(deleted))
                for group_id, deleted in deletions.items()
            ]
        )
    )


def _delete(broker: Broker, group_id: str) -> Deferred[ErrorCode]:
    try:
        return broker.cluster.groups.delete_group(broker, group_id)
    except KafkaError as error:
        refused: Deferred[ErrorCode] = Deferred()
        refused.fail(error)
        return refused


def _outcome(deleted: Deferred[ErrorCode]) -> ErrorCode:
    try:
        return deleted.value
    except KafkaError as error:
        return error.code
