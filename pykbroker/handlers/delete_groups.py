"""DeleteGroups (key 42), versions 0 to 2: remove groups that have no members, with their offsets (KIP-229)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.waits import Deferred
from wire.errors import KafkaError
from wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from wire.errors import ErrorCode
    from wire.messages.delete_groups import DeleteGroupsRequest


def handle(broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    response = DeleteGroupsResponse()
    done: Deferred[DeleteGroupsResponse] = Deferred()
    group_ids = list(dict.fromkeys(request.groups_names))
    waiting = len(group_ids)

    def settle(result: DeletableGroupResult, deleted: Deferred[ErrorCode]) -> None:
        nonlocal waiting
        try:
            result.error_code = deleted.value
        except KafkaError as error:
            result.error_code = error.code
        waiting -= 1
        if not waiting:
            done.complete(response)

    if not group_ids:
        done.complete(response)
    for group_id in group_ids:
        result = DeletableGroupResult(group_id=group_id)
        response.results.append(result)
        _delete(broker, group_id).then(partial(settle, result))
    return done


def _delete(broker: Broker, group_id: str) -> Deferred[ErrorCode]:
    try:
        return broker.cluster.groups.delete_group(broker, group_id)
    except KafkaError as error:
        refused: Deferred[ErrorCode] = Deferred()
        refused.fail(error)
        return refused
