"""The step of a broker whose controllers are other processes: what they answer does not reach the handlers here (KafkaApis.forwardToController).

Of AlterConfigs and IncrementalAlterConfigs the handlers do a part; the rest they forward themselves (``Broker.controller_for``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.wire.apis import ApiKey, response_class

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.brokers.forwarding import Forwarding
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.security.context import RequestContext

FORWARDED = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.UNREGISTER_CONTROLLER,
    }
)


class Forward:
    """A ``Guard`` of the dispatcher."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    def __call__(self, api_key: int, handle: Handle, /) -> Handle:
        if api_key not in FORWARDED:
            return handle
        response = response_class(api_key)

        def forwarded(broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
            del broker
            return self._forwarding.forward(ctx, request, response, ctx.api_version)

        return forwarded
