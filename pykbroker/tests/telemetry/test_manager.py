"""Client telemetry from a subscription to the values, in a cluster in memory."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.telemetry.otlp import gauge, metrics, point
from pykbroker.wire.compression import Compression, compress
from pykbroker.wire.errors import ErrorCode
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

CLIENT = b"client-instance-"
GOOD = metrics(gauge("a.rate", point(2.5)))
INTERVAL_MS = 10_000


class Telemetry(MemoryCluster):
    """A cluster with a subscription, and one client."""

    def __init__(self, **settings: str) -> None:
        super().__init__(**settings)
        self.peer = Peer()
        self.subscribe(metrics="*", interval_ms=str(INTERVAL_MS))

    def subscribe(self, name: str = "s", **settings: str) -> None:
        """Without settings it is removed."""
        changes = [AlterableConfig(each.replace("_", "."), 0, value) for each, value in settings.items()]
        changes = changes or [AlterableConfig(each, 1, None) for each in ("metrics", "interval.ms")]
        answer = self.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(16, name, changes)]), 1)
        assert answer.responses[0].error_code == 0
        self.settle()

    def get(self, client: bytes = CLIENT) -> GetTelemetrySubscriptionsResponse:
        found: GetTelemetrySubscriptionsResponse = self.ask(GetTelemetrySubscriptionsRequest(client), 0, peer=self.peer)
        return found

    def push(
        self, number: int, data: bytes = GOOD, codec: int = 0, *, client: bytes = CLIENT, last: bool = False
    ) -> ErrorCode:
        request = PushTelemetryRequest(client, number, last, codec, data)
        return ErrorCode(self.ask(request, 0, peer=self.peer).error_code)

    def values(self) -> dict[str, float]:
        return {
            name: value
            for client in self.broker.telemetry.received.clients()
            for (name, _), (value, _) in client.series.items()
        }


def listed(cluster: MemoryCluster) -> set[int]:
    return {each.api_key for each in cluster.ask(ApiVersionsRequest("test", "1"), 4).api_keys} & {71, 72}


def test_both_apis_are_listed_while_there_is_a_subscription() -> None:
    cluster = Telemetry()
    assert listed(cluster) == {71, 72}
    cluster.restart()
    assert listed(cluster) == {71, 72}
    cluster.subscribe()
    assert listed(cluster) == set()
    assert listed(MemoryCluster()) == set()


def test_nothing_is_imported_before_the_first_request() -> None:
    cluster = Telemetry()
    assert cluster.broker.started_telemetry is None


def test_a_client_is_given_an_id_and_told_what_to_send() -> None:
    cluster = Telemetry()
    one, two = cluster.get(bytes(16)), cluster.get(bytes(16))
    assert one.client_instance_id not in (bytes(16), two.client_instance_id)
    assert (one.error_code, one.push_interval_ms, one.requested_metrics) == (0, INTERVAL_MS, ["*"])
    assert (one.accepted_compression_types, one.telemetry_max_bytes, one.delta_temporality) == (
        [4, 3, 1, 2],
        2**20,
        True,
    )


@pytest.mark.parametrize("codec", list(Compression), ids=[each.name for each in Compression])
def test_metrics_are_taken_in_every_codec(codec: Compression) -> None:
    cluster = Telemetry()
    number = cluster.get().subscription_id
    assert cluster.push(number, compress(codec, GOOD), codec) == ErrorCode.NONE
    assert cluster.values() == {"a.rate": 2.5}
    assert cluster.cluster.runtime.memory.used == 0


@pytest.mark.parametrize(
    ("data", "codec", "code"),
    [
        (GOOD[:-1], 0, ErrorCode.INVALID_RECORD),
        (GOOD, Compression.ZSTD, ErrorCode.INVALID_RECORD),
        (compress(Compression.GZIP, bytes(2**20 + 1)), Compression.GZIP, ErrorCode.INVALID_RECORD),
        (bytes(2**20 + 1), 0, ErrorCode.TELEMETRY_TOO_LARGE),
        (GOOD, 5, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (GOOD, -1, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (b"", 0, ErrorCode.NONE),
    ],
    ids=["cut", "no zstd", "bomb", "large", "codec 5", "codec -1", "nothing"],
)
def test_what_is_refused_is_not_kept(data: bytes, codec: int, code: ErrorCode) -> None:
    cluster = Telemetry()
    assert cluster.push(cluster.get().subscription_id, data, codec) == code
    assert cluster.values() == {}
    assert cluster.cluster.runtime.memory.used == 0


def test_pushes_have_their_turn() -> None:
    cluster = Telemetry()
    number = cluster.get().subscription_id
    assert cluster.push(number) == ErrorCode.NONE
    assert cluster.push(number) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert cluster.get().error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    cluster.advance(INTERVAL_MS)
    assert cluster.push(number) == ErrorCode.NONE
    assert cluster.push(number, last=True) == ErrorCode.NONE
    cluster.advance(INTERVAL_MS)
    assert cluster.push(number) == ErrorCode.INVALID_REQUEST


def test_a_changed_subscription_is_asked_for_at_once() -> None:
    cluster = Telemetry()
    number = cluster.get().subscription_id
    cluster.subscribe(metrics="a.", interval_ms=str(INTERVAL_MS))
    assert cluster.push(number) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    answer = cluster.get()
    assert (answer.error_code, answer.requested_metrics) == (0, ["a."])
    assert answer.subscription_id != number
    assert cluster.push(answer.subscription_id) == ErrorCode.THROTTLING_QUOTA_EXCEEDED  # the refused one was a push
    cluster.advance(INTERVAL_MS)
    assert cluster.push(answer.subscription_id) == ErrorCode.NONE


@pytest.mark.parametrize("client", [bytes(16), bytes(15) + b"\1"], ids=["zero", "one"])
def test_ids_that_no_client_has(client: bytes) -> None:
    assert Telemetry().push(0, client=client) == ErrorCode.INVALID_REQUEST


def test_an_instance_ends_with_its_connection_and_its_values_later() -> None:
    cluster = Telemetry()
    assert cluster.push(cluster.get().subscription_id) == ErrorCode.NONE
    assert len(cluster.broker.telemetry.instances) == 1
    cluster.peer.lose()
    assert len(cluster.broker.telemetry.instances) == 0
    assert cluster.values() == {"a.rate": 2.5}
    cluster.advance(60_000)
    assert cluster.values() == {}


def test_what_is_decompressed_waits_for_memory() -> None:
    cluster = Telemetry()
    number = cluster.get().subscription_id
    memory = cluster.cluster.runtime.memory
    memory.decompressed.count(memory.limit)
    waiting = cluster.post(PushTelemetryRequest(CLIENT, number, False, 0, GOOD), 0)
    cluster.settle()
    assert not waiting.done
    memory.decompressed.give(memory.limit)
    cluster.settle()
    assert waiting.done
    assert cluster.values() == {"a.rate": 2.5}
