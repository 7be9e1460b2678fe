"""Records of brokers' lives (KIP-631): registration, controlled shutdown, fencing."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pykbroker.metadata.features import CORDONED_SINCE, METADATA_VERSION, Features
from pykbroker.metadata.ids import random_id
from pykbroker.metadata.image import BrokerImage, Endpoint, MetadataImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord

if TYPE_CHECKING:
    from pykbroker.wire.internal.broker_registration_change_record import BrokerRegistrationChangeRecord

_SET, _CLEARED = 1, -1


@dataclass(slots=True)
class BrokerRegistration:
    """The data that a broker registers with."""

    id: int
    endpoints: list[Endpoint]
    log_dirs: list[bytes]
    rack: str | None = None
    #: The epoch in the marker of its last clean shutdown (KIP-966); -1 if it did not stop cleanly. For own stores only.
    previous_epoch: int = -1
    #: Those of ``log_dirs`` that get no new replicas (KIP-1066).
    cordoned: list[bytes] = field(default_factory=list)


def registration(
    broker: BrokerRegistration, epoch: int, rng: random.Random, features: Features, *, fenced: bool = False
) -> RegisterBrokerRecord:
    """The registration record, unfenced at once where brokers share a store: in this process there is no metadata lag to wait for.

    ``epoch`` is the offset of the record, as in Kafka.
    """
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=random_id(rng),
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in broker.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in features.ranges.items()
        ],
        rack=broker.rack,
        fenced=fenced,
        log_dirs=sorted(broker.log_dirs),
        cordoned_log_dirs=sorted(broker.cordoned) or None,
    )


def cordons_others(image: MetadataImage, broker: BrokerImage, cordoned: Sequence[bytes] | None) -> bool:
    """Whether the log directories of a broker that get no new replicas change (KIP-1066); None says nothing of them."""
    if cordoned is None or image.features.get(METADATA_VERSION, 0) < CORDONED_SINCE:
        return False
    return broker.cordoned_log_dirs is None or set(broker.cordoned_log_dirs) != set(cordoned)


def cordoning(broker: BrokerImage, cordoned: Sequence[bytes]) -> BrokerRegistrationChangeRecord:
    """The record by which these log directories, and no others, get no new replicas."""
    return _change(broker, cordoned_log_dirs=list(cordoned))


def losing(broker: BrokerImage, failed: Collection[bytes]) -> BrokerRegistrationChangeRecord:
    """The record by which a broker goes on without log directories that have failed (KIP-858)."""
    return _change(broker, log_dirs=[directory for directory in broker.log_dirs if directory not in failed])


def fencing(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    """The record that fences a broker: it leads nothing, and clients do not find it."""
    return _change(broker, fenced=_SET)


def unfencing(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    """The record that unfences a broker: clients find it, and it may lead."""
    return _change(broker, fenced=_CLEARED)


def leaving(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    """The record of a controlled shutdown: the broker still answers, but leads nothing and is in no ISR."""
    return _change(broker, in_controlled_shutdown=_SET)


def _change(broker: BrokerImage, **changed: Any) -> BrokerRegistrationChangeRecord:
    from pykbroker.wire.internal.broker_registration_change_record import BrokerRegistrationChangeRecord

    return BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, **changed)


def check_epoch(image: MetadataImage, broker_id: int, epoch: int) -> None:
    """Raises KafkaError STALE_BROKER_EPOCH unless the broker is registered with this broker epoch."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.epoch != epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
        )
