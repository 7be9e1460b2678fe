"""PushTelemetry (key 72, version 0): the metrics of a client, in OpenTelemetry's format (KIP-714).

What is decompressed has at most ``telemetry.max.bytes``, is read in a thread, and counts against the memory budget; metrics that cannot be read
are INVALID_RECORD. The values are at ``/metrics`` and in the console. Left out: summaries and exponential histograms, which no client of
Kafka sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.messages.push_telemetry import PushTelemetryResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest


def handle(broker: Broker, ctx: RequestContext, request: PushTelemetryRequest) -> Deferred[PushTelemetryResponse]:
    return broker.telemetry.push(ctx, request).map(lambda _: PushTelemetryResponse())


def failed(request: PushTelemetryRequest, version: int, error: KafkaError) -> PushTelemetryResponse:
    del request, version
    return PushTelemetryResponse(error_code=error.code)
