"""StreamsGroupTopologyDescriptionUpdate (key 93, version 0): a member describes its topology for people (KIP-1331).

A broker of Kafka hands it to a plug-in, a class of Java. Here, as on a broker without one, members are not asked for it, and those that
send it are answered UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.streams.requests import check_served
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.streams_group_topology_description_update import (
        StreamsGroupTopologyDescriptionUpdateRequest,
    )


def handle(
    broker: Broker, ctx: RequestContext, request: StreamsGroupTopologyDescriptionUpdateRequest
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    check_served(broker)
    message = "The broker has no streams group topology description plugin configured."
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, message)


def failed(
    request: StreamsGroupTopologyDescriptionUpdateRequest, version: int, error: KafkaError
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    return StreamsGroupTopologyDescriptionUpdateResponse(error_code=error.code, error_message=error.given_message)
