"""GetTelemetrySubscriptions and PushTelemetry: subscriptions, their ids, and refusals, of a broker with a plug-in that takes metrics."""

from __future__ import annotations

import gzip
import itertools
import struct
from collections.abc import Callable, Mapping

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.compression import Compression, compress
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest
from pykbroker.wire.primitives import uuid_to_str

CLIENT_METRICS = 16
_CLIENT = b"client-instance-"
_NOBODY = 0x7FFF_0000


def subscribe(ask: Ask, name: str, **settings: str) -> None:
    """Make a subscription, and wait until it applies; ``_`` in a setting's name stands for a dot. Without settings it is removed.

    Apache Kafka answers before it applies, in the order of changes: so another one is made, waited for, and removed.
    """
    _change(ask, name, settings)
    number = next(_numbers)
    interval = 100 + number % 500
    _change(ask, _FENCE, {"interval.ms": str(interval), "match": f"client_instance_id={uuid_to_str(_FENCED)[:16]}.*"})
    _until(ask, number, lambda reported: reported == interval)
    _change(ask, _FENCE, {})
    _until(ask, number, lambda reported: reported != interval)


def _change(ask: Ask, name: str, settings: Mapping[str, str]) -> None:
    configs = [AlterableConfig(each.replace("_", "."), 0, value) for each, value in settings.items()]
    configs = configs or [AlterableConfig(each, 1, None) for each in ("metrics", "interval.ms", "match")]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(CLIENT_METRICS, name, configs)])
    assert ask.quietly(request, 1).responses[0].error_code == 0


def _until(ask: Ask, number: int, met: Callable[[int], bool]) -> None:
    """Wait until a client that nobody has seen is told of such an interval."""
    while not met(requested(ask, _FENCED[:12] + struct.pack(">HH", number, next(_polls) & 0xFFFF)).push_interval_ms):
        pass


_FENCE, _FENCED = "fence", b"of the fence...."
_numbers, _polls = itertools.count(), itertools.count()


def requested(ask: Ask, client: bytes = bytes(16)) -> GetTelemetrySubscriptionsResponse:
    """What is asked of a client; nothing is kept."""
    found: GetTelemetrySubscriptionsResponse = ask.quietly(GetTelemetrySubscriptionsRequest(client), 0)
    return found


@case(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)
def subscriptions_of_clients(ask: Ask) -> None:
    names = [ask.name(str(number)) for number in range(4)]
    many = ",".join(f"org.apache.kafka.metric.{number}" for number in range(13))
    ask(GetTelemetrySubscriptionsRequest(_CLIENT))
    for number, settings in enumerate(
        (
            {"metrics": "org.apache.kafka.b,org.apache.kafka.a,d,c,Aa,BB", "interval_ms": "60000"},
            {"metrics": many, "interval_ms": "50000", "match": "client_source_address=127.*"},
            {
                "metrics": "not.for.you",
                "interval_ms": "1000",
                "match": "client_id=somebody-[a-c]+ , client_software_name=x",
            },
            {"metrics": "*", "interval_ms": "30000", "match": "client_instance_id=.*"},
        )
    ):
        subscribe(ask, names[number], **settings)
        for client in (_CLIENT[:-1] + bytes([number]), bytes([255 - number]) * 16):
            ask.keep(requested(ask, client).subscription_id)
            ask(GetTelemetrySubscriptionsRequest(client))
    subscribe(ask, names[3])
    ask(GetTelemetrySubscriptionsRequest(_CLIENT[:-1] + b"\x03"))
    subscribe(ask, names[1])
    subscribe(ask, names[2])
    ask(GetTelemetrySubscriptionsRequest(_CLIENT[:-1] + b"\x03"))
    subscribe(ask, names[0])


@case(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)
def properties_that_subscriptions_match(ask: Ask) -> None:
    name = ask.name("one")
    ask.quietly(ApiVersionsRequest("a-library", "1.2.3"), 4)
    for number, match in enumerate(
        (
            "client_software_name=a-lib.*,client_software_version=1\\.2\\.3",
            "client_software_name=a-lib",
            "client_software_name=unknown",
            "client_instance_id=AAECAwQFBgcICQoLDA0O.*",
            "client_source_port=[0-9]+",
            "client_source_address=127.0.0.1",
            "client_id=.*",
        )
    ):
        subscribe(ask, name, metrics="one", interval_ms=str(60_000 + number), match=match)
        ask.keep([match, requested(ask, bytes([*range(15), number])).requested_metrics])
    subscribe(ask, name)


def number_point(value: float) -> bytes:
    """MetricsData with one gauge of one point."""

    def inside(field: int, data: bytes) -> bytes:
        return bytes([field << 3 | 2, len(data)]) + data

    point = b"\x21" + struct.pack("<d", value)
    return inside(1, inside(2, inside(2, inside(1, b"a.metric") + inside(5, inside(1, point)))))


@case(ApiKey.API_VERSIONS, since=4, until=4)
def what_is_listed_while_there_are_subscriptions(ask: Ask) -> None:
    name = ask.name("one")
    subscribe(ask, name, metrics="one", interval_ms="60000", match="client_id=nobody")
    listed = ask.quietly(ApiVersionsRequest("a-library", "1.2.3"), 4).api_keys
    ask.keep([[each.api_key, each.min_version, each.max_version] for each in listed if each.api_key in (71, 72)])
    subscribe(ask, name)


@case(ApiKey.PUSH_TELEMETRY)
def pushes(ask: Ask) -> None:
    name = ask.name("pushes")
    subscribe(ask, name, metrics="*", interval_ms="3600000")
    good = number_point(1.5)
    pushed = (
        (Compression.NONE, good),
        (Compression.GZIP, compress(Compression.GZIP, good)),
        (Compression.SNAPPY, compress(Compression.SNAPPY, good)),
        (Compression.LZ4, compress(Compression.LZ4, good)),
        (Compression.ZSTD, compress(Compression.ZSTD, good)),
        (Compression.ZSTD, good),
        (Compression.GZIP, compress(Compression.GZIP, good)[:-9]),
        (Compression.NONE, good[:-1]),
        (Compression.NONE, b""),
        (Compression.NONE, b"\xff" * 20),
        (5, good),
        (-1, good),
        (Compression.NONE, bytes(1024 * 1024 + 1)),
        (Compression.GZIP, gzip.compress(bytes(1024 * 1024 + 1))),
    )
    for number, (codec, metrics) in enumerate(pushed):
        client = bytes([number, *range(15)])
        identity = requested(ask, client).subscription_id
        ask(PushTelemetryRequest(client, identity, False, codec, metrics))
        ask(PushTelemetryRequest(client, identity, False, Compression.NONE, good))
        ask(GetTelemetrySubscriptionsRequest(client))
    subscribe(ask, name)


@case(ApiKey.PUSH_TELEMETRY)
def pushes_out_of_turn(ask: Ask) -> None:
    name = ask.name("turns")
    good = number_point(2)
    for client in (bytes(16), bytes(15) + b"\x01", bytes(15) + b"\x02"):
        ask(PushTelemetryRequest(client, 7, False, 0, good))
    subscribe(ask, name, metrics="*", interval_ms="3600000")
    client = b"out-of-turn-----"
    identity = requested(ask, client).subscription_id
    ask(PushTelemetryRequest(client, _NOBODY, False, 0, good))
    ask(GetTelemetrySubscriptionsRequest(client))
    ask(PushTelemetryRequest(client, identity, False, 0, good))
    ask(PushTelemetryRequest(client, identity, True, 0, good))
    ask(PushTelemetryRequest(client, identity, True, 0, good))
    ask(GetTelemetrySubscriptionsRequest(client))
    ask(PushTelemetryRequest(client, identity, False, 0, good))
    other = b"who-never-asked-"
    ask(PushTelemetryRequest(other, identity, False, 0, good))
    identity_of_other = ask(GetTelemetrySubscriptionsRequest(other)).subscription_id
    ask(PushTelemetryRequest(other, identity_of_other, False, 0, good))
    subscribe(ask, name, metrics="*", interval_ms="3500000")
    ask(PushTelemetryRequest(client, identity, False, 0, good))
    subscribe(ask, name)
