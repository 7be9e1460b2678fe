"""GetTelemetrySubscriptions (key 71, version 0): which metrics a client is asked for, how often, and under which id (KIP-714).

Listed by ApiVersions while there are subscriptions (CLIENT_METRICS resources), as Apache Kafka lists it while it has a plug-in that takes
metrics. A client that asks again before its next push is due is throttled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.wire.compression import Compression
from pykbroker.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.telemetry.instances import ClientInstance
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest

#: In the order of Kafka's preference; clients take the first that they know.
_ACCEPTED: Final = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)


def handle(
    broker: Broker, ctx: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> Deferred[GetTelemetrySubscriptionsResponse]:
    telemetry = broker.telemetry

    def answer(instance: ClientInstance) -> GetTelemetrySubscriptionsResponse:
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance.id,
            subscription_id=instance.subscription_id,
            accepted_compression_types=list(map(int, _ACCEPTED)),
            push_interval_ms=instance.subscribed.interval_ms,
            telemetry_max_bytes=telemetry.most_bytes,
            delta_temporality=True,
            requested_metrics=instance.subscribed.metrics,
        )

    return telemetry.get(ctx, request.client_instance_id).map(answer)


def failed(
    request: GetTelemetrySubscriptionsRequest, version: int, error: KafkaError
) -> GetTelemetrySubscriptionsResponse:
    del request, version
    return GetTelemetrySubscriptionsResponse(error_code=error.code)
