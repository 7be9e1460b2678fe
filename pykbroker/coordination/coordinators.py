"""The coordinators of one broker: one row for each kind. They are created on first use, since start-up counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pykbroker.coordination.placement import partition_for
from pykbroker.metadata.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.shards import Shards
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Coordinator(Protocol):
        """What all coordinators have; requests go to each in its own way."""

        shards: Shards[Any]

        def follow(self, image: MetadataImage, delta: MetadataDelta, /) -> None:
            """The metadata has changed."""
            ...

        def close(self) -> None:
            """The broker has stopped."""
            ...


class CoordinatorKind(NamedTuple):
    """A kind of coordinator."""

    #: Its topic; ``controller/internal_topics.py`` has the settings with which it is created.
    topic: str
    #: The type of its keys in FindCoordinator, and the version of that request from which on it is known.
    key_type: int
    found_since: int
    #: Its class, by name: it is called with a ``CoordinationHost``.
    module: str
    class_name: str
    #: The setting of the number of partitions of its topic.
    partitions: str
    #: Loads all its partitions when the broker starts, if it has work without requests. Its class has ``load_all``.
    loads_at_start: bool = False

    def partition_of(self, key: str, image: MetadataImage, config: BrokerConfig) -> int:
        """The index of the partition to which a key belongs."""
        topic = image.topics.get(self.topic)
        return partition_for(key, config[self.partitions] if topic is None else len(topic.partitions))


GROUPS = CoordinatorKind(
    CONSUMER_OFFSETS,
    key_type=0,
    found_since=0,
    module="pykbroker.coordination.groups.coordinator",
    class_name="GroupCoordinator",
    partitions="offsets.topic.num.partitions",
)
TRANSACTIONS = CoordinatorKind(
    TRANSACTION_STATE,
    key_type=1,
    found_since=0,
    module="pykbroker.coordination.transactions.coordinator",
    class_name="TransactionCoordinator",
    partitions="transaction.state.log.num.partitions",
    loads_at_start=True,  # open transactions must be aborted when they time out
)

SHARES = CoordinatorKind(
    SHARE_GROUP_STATE,
    key_type=2,
    found_since=6,
    module="pykbroker.coordination.share.coordinator",
    class_name="ShareCoordinator",
    partitions="share.coordinator.state.topic.num.partitions",
)

KINDS = (GROUPS, TRANSACTIONS, SHARES)


class Coordinators:
    """See the module; they follow the metadata until ``close``."""

    def __init__(self, host: CoordinationHost) -> None:
        self._host = host
        self._kinds = {kind.topic: kind for kind in KINDS}
        #: By topic, those that were created.
        self.created: dict[str, Any] = {}
        self._unsubscribe: Callable[[], None] = host.metadata.subscribe(self._follow)

    def __getitem__(self, kind: CoordinatorKind) -> Any:
        """The coordinator of a kind."""
        found = self.created.get(kind.topic)
        if found is None:
            create = getattr(import_module(kind.module), kind.class_name)
            found = self.created[kind.topic] = create(self._host)
        return found

    def load_at_start(self) -> None:
        """Begin to load those that have work without requests."""
        for kind in self._kinds.values():
            if kind.loads_at_start and kind.topic in self._host.metadata.image.topics:
                self[kind].load_all()

    def close(self) -> None:
        """The broker has stopped."""
        self._unsubscribe()
        for coordinator in self.created.values():
            coordinator.close()
        self.created.clear()

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Pass a change on. A coordinator whose state moves to this broker is created: members wait for their sessions there."""
        for topic, kind in self._kinds.items():
            for change in delta.by_topic.get(topic, ()):
                if change.after.leader == self._host.node_id and change.moves_state_of(topic):
                    _ = self[kind]
        for coordinator in list(self.created.values()):
            coordinator.follow(image, delta)
