"""Responses of both 2.8 and 3.9 that differ from 4.3."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pykbroker.releases.amending import after
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handler
    from pykbroker.handlers.table import ServedApi
    from pykbroker.requests.pipeline import Step
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_groups import DescribeGroupsResponse

#: READ, DELETE and DESCRIBE, as bits; groups have DESCRIBE_CONFIGS and ALTER_CONFIGS since 4.0.
_OPERATIONS_ON_GROUPS: Final = 1 << 3 | 1 << 6 | 1 << 8


def own_apis(table: Iterable[ServedApi]) -> Step:
    """ApiVersions lists the APIs of the release."""
    listed = {int(api.key): (api.listed_min, api.max_version) for api in table}

    def change(_broker: Broker, _ctx: RequestContext, _request: Any, response: ApiVersionsResponse) -> None:
        response.api_keys = [
            ApiVersion(each.api_key, *listed[each.api_key]) for each in response.api_keys if each.api_key in listed
        ]

    return after(change)


def _fewer_operations(_broker: Broker, _ctx: RequestContext, request: Any, response: DescribeGroupsResponse) -> None:
    if request.include_authorized_operations:
        for group in response.groups:
            group.authorized_operations &= _OPERATIONS_ON_GROUPS


#: DescribeGroups returns fewer authorized operations.
operations_on_groups: Final = after(_fewer_operations)


def without_resources(later: Iterable[int], handler: str, words: str | None, results: str = "responses") -> Step:
    """Refuse settings of resource types that came later one by one, and serve the others.

    ``handler`` is the module of the API; ``words`` is the release's error message, with ``{}`` for the type's number,
    or else the usual one.
    """
    kinds = frozenset(later)

    def amendment(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        strange = [each for each in request.resources if each.resource_type in kinds]
        if not strange:
            return proceed()
        module: Handler = import_module(f"pykbroker.handlers.{handler}")
        refused = []
        for each in strange:
            text = ErrorCode.INVALID_REQUEST.default_message if words is None else words.format(each.resource_type)
            alone = type(request)(resources=[each])
            refusal: Any = module.failed(alone, ctx.api_version, KafkaError(ErrorCode.INVALID_REQUEST, text))
            refused += getattr(refusal, results)
        request.resources = [each for each in request.resources if each.resource_type not in kinds]
        add = after(lambda _broker, _ctx, _request, response: getattr(response, results).extend(refused))
        return add(broker, ctx, request, proceed)

    return amendment
