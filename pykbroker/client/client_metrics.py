"""Subscriptions of client metrics (KIP-714) in a cluster: their names, their settings, and changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pykbroker.client.errors import raise_for
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

if TYPE_CHECKING:
    from pykbroker.client.client import Client

_RESOURCE: Final = 16
_SET, _DELETE = 0, 1


def subscription_names(client: Client) -> list[str]:
    """The names of all subscriptions. Raises KafkaError with the code of the answer, as CLUSTER_AUTHORIZATION_FAILED."""
    answer = client.any().call(ListConfigResourcesRequest(resource_types=[_RESOURCE]), ListConfigResourcesResponse)
    raise_for(answer.error_code)
    return [each.resource_name for each in answer.config_resources]


def subscription_settings(client: Client, name: str) -> Sequence[DescribeConfigsResourceResult]:
    """The settings of a subscription, with defaults. Raises KafkaError with the code of the answer, as CLUSTER_AUTHORIZATION_FAILED."""
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(_RESOURCE, name, None)])
    (answer,) = client.any().call(request, DescribeConfigsResponse).results
    raise_for(answer.error_code, answer.error_message)
    return answer.configs


def alter_subscription(
    client: Client, name: str, values: dict[str, str | None], *, validate_only: bool = False
) -> None:
    """Set settings of a subscription; None removes one, and the last one the subscription.

    Raises KafkaError INVALID_REQUEST or INVALID_CONFIG, or with another code of the answer.
    """
    changes = [AlterableConfig(each, _DELETE if value is None else _SET, value) for each, value in values.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(_RESOURCE, name, changes)], validate_only)
    for answer in client.controller().call(request, IncrementalAlterConfigsResponse).responses:
        raise_for(answer.error_code, answer.error_message)
