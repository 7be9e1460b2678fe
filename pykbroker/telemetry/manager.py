"""What one broker does with the requests of client telemetry (KIP-714; ClientMetricsManager, Apache Kafka 4.4.0)."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from pykbroker.metadata.image import CLIENT_METRICS_RESOURCE
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.security.context import tell_when_lost
from pykbroker.telemetry.instances import SHORTEST_LIFE_MS, ClientInstance, ClientInstances
from pykbroker.telemetry.otlp import MalformedMetrics, Point, decode
from pykbroker.telemetry.received import SERIES_OF_A_CLIENT, ClientValues, ReceivedMetrics
from pykbroker.telemetry.subscriptions import AllSubscriptions, Subscribed, subscription_id, subscription_of
from pykbroker.wire.compression import Compression, decompress, memory_to_decompress
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.primitives import ZERO_UUID, uuid_to_str

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest

log = logging.getLogger(__name__)

_ONE_UUID: Final = bytes(15) + b"\x01"
#: The most characters of a client's id, and of its library's name and version, that are kept and matched; longer ones match no pattern.
_LONGEST: Final = 256
#: Bytes of memory that a point takes at most beside those of the message, roughly.
_BYTES_OF_A_POINT: Final = 1000


class TelemetryHost(Protocol):
    """What telemetry needs of its broker."""

    @property
    def config(self) -> BrokerConfig:
        """Its settings."""
        ...

    @property
    def runtime(self) -> Runtime:
        """Its process."""
        ...

    @property
    def metadata(self) -> MetadataSource:
        """Where the subscriptions are."""
        ...


class ClientTelemetry:
    """See the module. ``counts`` are events under Kafka's names of them."""

    def __init__(self, host: TelemetryHost) -> None:
        self._runtime = host.runtime
        self.most_bytes: int = host.config["telemetry.max.bytes"]
        self.instances = ClientInstances(host.runtime.timers)
        self.received = ReceivedMetrics(host.runtime.timers)
        self.counts: Counter[str] = Counter()
        found = host.metadata.image.client_metrics
        self._subscriptions = AllSubscriptions({name: subscription_of(settings) for name, settings in found.items()})
        #: Changes with the subscriptions, which are replaced, not changed: a thread may read them.
        self._version = 0
        self._unsubscribe = host.metadata.subscribe(self._follow)

    def close(self) -> None:
        """The broker has stopped."""
        self._unsubscribe()
        self.instances.close()
        self.received.close()

    def get(self, ctx: RequestContext, instance_id: bytes) -> Deferred[ClientInstance]:
        """What is asked of a client; one without an id is given one. Fails with KafkaError THROTTLING_QUOTA_EXCEEDED."""
        if instance_id == ZERO_UUID:
            instance_id = self._runtime.random.randbytes(16)

        def checked(instance: ClientInstance) -> ClientInstance:
            try:
                instance.check_get(self._runtime.clock.monotonic())
            except KafkaError:
                self.counts["throttle"] += 1
                raise
            instance.last_error = ErrorCode.NONE
            return instance

        return self._instance(ctx, instance_id).map(checked)

    def push(self, ctx: RequestContext, request: PushTelemetryRequest) -> Deferred[None]:
        """Take the metrics of a push. Fails with KafkaError as ``ClientInstance.check_push``, and INVALID_RECORD for what is no metrics."""
        if request.client_instance_id in (ZERO_UUID, _ONE_UUID):
            return Deferred.failed(KafkaError(ErrorCode.INVALID_REQUEST))

        def checked(instance: ClientInstance) -> Deferred[None]:
            try:
                instance.check_push(request, self._runtime.clock.monotonic(), self.most_bytes)
            except KafkaError as error:
                self._count(error)
                instance.last_error = ErrorCode(error.code)
                raise
            finally:
                instance.is_terminating = request.terminating
            instance.last_error = ErrorCode.NONE
            return self._decoded(request, instance) if request.metrics else Deferred.completed(None)

        return self._instance(ctx, request.client_instance_id).chain(checked)

    def _count(self, error: KafkaError) -> None:
        if error.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
            self.counts["throttle"] += 1
        elif error.code == ErrorCode.UNKNOWN_SUBSCRIPTION_ID:
            self.counts["unknown-subscription-request"] += 1

    # Who asks, and what is asked of him

    def _instance(self, ctx: RequestContext, instance_id: bytes) -> Deferred[ClientInstance]:
        """The instance, made or evaluated anew if it has to be."""
        found = self.instances.get(instance_id)
        if found is not None and found.version == self._version:
            self.instances.keep(found)
            return Deferred.completed(found)
        client = _properties(ctx, instance_id) if found is None else found.client
        version = self._version
        evaluated: Deferred[Subscribed] = attempt(self._runtime.offload_read, self._subscriptions.of, client)
        return evaluated.map(partial(self._evaluated, ctx, instance_id, client, version))

    def _evaluated(
        self,
        ctx: RequestContext,
        instance_id: bytes,
        client: dict[str, str],
        version: int,
        subscribed: Subscribed,
    ) -> ClientInstance:
        found = self.instances.get(instance_id)
        if found is None or found.version < version:  # unless another request of the client was faster
            number = subscription_id(subscribed, instance_id)
            found = ClientInstance(instance_id, client, subscribed, number, version)
            self.instances.put(found)
            if ctx.connection is not None:
                tell_when_lost(ctx.connection, self, partial(self.instances.forget, instance_id))
        self.instances.keep(found)
        return found

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        changed = [name for kind, name in delta.configs if kind == CLIENT_METRICS_RESOURCE]
        if not changed:
            return
        subscriptions = dict(self._subscriptions.by_name)
        for name in changed:
            settings: Mapping[str, str] = image.client_metrics.get(name, {})
            if settings:
                subscriptions[name] = subscription_of(settings)
            else:
                subscriptions.pop(name, None)
        self._subscriptions = AllSubscriptions(subscriptions)
        self._version += 1

    # What it sends

    def _decoded(self, request: PushTelemetryRequest, instance: ClientInstance) -> Deferred[None]:
        """Decompress and decode in a thread, with memory of the budget; then keep the values."""
        codec, account = Compression(request.compression_type), self._runtime.memory.decompressed
        needed = self.most_bytes + memory_to_decompress(codec, request.metrics) + SERIES_OF_A_CLIENT * _BYTES_OF_A_POINT
        breathe = self._runtime.breathe

        def decoded(_: None) -> Deferred[tuple[list[Point], int]]:
            read = partial(_read, codec, request.metrics, self.most_bytes, breathe)
            return attempt(self._runtime.offload_read, read).fold(over)

        def over(done: Deferred[tuple[list[Point], int]]) -> tuple[list[Point], int]:
            account.give(needed)
            try:
                return done.value
            except (WireError, MalformedMetrics) as error:
                self.counts["plugin-error"] += 1
                instance.last_error = ErrorCode.INVALID_RECORD
                log.info("The metrics of client %r cannot be read: %s", instance.client.get("client_id"), error)
                raise KafkaError(ErrorCode.INVALID_RECORD) from error

        granted = account.take(needed) or Deferred.completed(None)
        return granted.chain(decoded).map(partial(self._keep, instance, terminating=request.terminating))

    def _keep(self, instance: ClientInstance, found: tuple[list[Point], int], *, terminating: bool) -> None:
        points, dropped = found
        self.counts["plugin-export"] += 1
        self.received.dropped += dropped
        known = instance.client
        software = f"{known.get('client_software_name', '')} {known.get('client_software_version', '')}"
        client = ClientValues(uuid_to_str(instance.id), known.get("client_id", ""), software)
        self.received.take(client, points, SHORTEST_LIFE_MS if terminating else instance.life_ms)


def _read(codec: Compression, metrics: bytes, most: int, breathe: Callable[[], None]) -> tuple[list[Point], int]:
    """A thread's work. Raises WireError and MalformedMetrics."""
    return decode(decompress(codec, metrics, most), SERIES_OF_A_CLIENT, breathe)


def _properties(ctx: RequestContext, instance_id: bytes) -> dict[str, str]:
    """What subscriptions match of a client, as far as it has said it."""
    peer = ctx.connection
    name, version = ("unknown", "unknown") if peer is None else peer.client_software
    found = {
        "client_instance_id": uuid_to_str(instance_id),
        "client_id": ctx.client_id,
        "client_software_name": name,
        "client_software_version": version,
        "client_source_address": ctx.client_host,
        "client_source_port": None if peer is None else str(peer.port),
    }
    return {key: value for key, value in found.items() if value is not None and len(value) <= _LONGEST}
