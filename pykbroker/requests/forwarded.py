"""The step of a broker whose controllers are other processes: what they answer does not reach the handlers here (KafkaApis.forwardToController).

Of AlterConfigs and IncrementalAlterConfigs the handlers do a part; the rest they forward themselves (``Broker.controller_for``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

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
#: What ApiVersions offers as far as the controllers know it: what they answer, or a part of it.
_CUT = FORWARDED | {ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS}


class Forward:
    """A ``Guard`` of the dispatcher."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    def __call__(self, api_key: int, handle: Handle, /) -> Handle:
        if api_key == ApiKey.API_VERSIONS:
            return self._listing(handle)
        if api_key not in FORWARDED:
            return handle
        response = response_class(api_key)

        def forwarded(broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
            del broker
            return self._forwarding.forward(ctx, request, response, ctx.api_version)

        return forwarded

    def _listing(self, handle: Handle) -> Handle:
        """ApiVersions lists what the controllers answer in versions that they know, too (ApiVersionsResponse.intersectForwardableApis)."""

        def listed(broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
            response, known = handle(broker, ctx, request), self._forwarding.versions()
            if known is not None and isinstance(response, ApiVersionsResponse):
                response.api_keys = [each for each in response.api_keys if _is_known(each, known)]
            return response

        return listed


def _is_known(api: ApiVersion, known: Mapping[int, tuple[int, int]]) -> bool:
    """Whether an API remains; its versions are cut to those that are known."""
    if api.api_key in _CUT:
        lowest, highest = known.get(api.api_key, (0, -1))
        api.min_version, api.max_version = max(api.min_version, lowest), min(api.max_version, highest)
    return api.min_version <= api.max_version
