"""The replicas of brokers with a store each: who is in sync is what leaders say (AlterPartition), and a broker that comes back is not.

The same methods as ``shared_store.SharedStore``, and the requests of brokers in other processes.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from pykbroker.controller.broker_sessions import BrokerSessions
from pykbroker.controller.drafts import Draft
from pykbroker.controller.internal_topics import Settings
from pykbroker.controller.partition_log import PartitionLog
from pykbroker.controller.reassignments import Reassignment, plan_reassignments
from pykbroker.controller.registrations import BrokerRegistration, fencing, leaving, registration, unfencing
from pykbroker.controller.remote_brokers import RemoteBrokers
from pykbroker.controller.replication_control import ReplicationControl
from pykbroker.controller.shared_store import ELECTIONS_AT_ONCE
from pykbroker.metadata.features import Features
from pykbroker.metadata.image import BrokerImage, MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.runtime.slices import at_once
from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord

if TYPE_CHECKING:
    from pykbroker.controller.commits import Records
    from pykbroker.controller.elections import ElectionType, Results
    from pykbroker.wire.errors import KafkaError


class OwnStores:
    """Plans the changes of one image."""

    def __init__(
        self, image: MetadataImage, config: Settings, node_id: int, rng: random.Random, features: Features
    ) -> None:
        self.control = ReplicationControl(image, config, node_id)
        self.sessions = BrokerSessions(config["broker.session.timeout.ms"])
        self.remote = RemoteBrokers(self.control, self.sessions)
        self.partition_log = PartitionLog()
        self._image = image
        self._config = config
        self._node_id = node_id
        self._rng = rng
        self._features = features

    def start_all(
        self, registrations: Sequence[BrokerRegistration], offset: int, *, clean: bool
    ) -> tuple[list[MetadataRecord], dict[int, int]]:
        """As ``SharedStore.start_all``; each registration says whether its broker stopped cleanly, so ``clean`` does not matter.

        All are registered before the first is unfenced, as if they started together.
        """
        del clean
        draft, control = self._draft(offset)
        here = {broker.id for broker in registrations}
        epochs = {broker.id: at_once(self._register(draft, control, broker)) for broker in registrations}
        for other in draft.image.active_brokers():
            if other.id not in here:
                at_once(draft.add_all(control.without(other.id)))
                draft.add(fencing(other))
        for broker in registrations:
            at_once(self._unfence(draft, control, broker.id))
        return draft.records, epochs

    def start(
        self, broker: BrokerRegistration, offset: int
    ) -> Generator[float, None, tuple[list[MetadataRecord], int]]:
        """As ``SharedStore.start``: registered and, since it knows the metadata, unfenced."""
        draft, control = self._draft(offset)
        epoch = yield from self._register(draft, control, broker)
        yield from self._unfence(draft, control, broker.id)
        return draft.records, epoch

    def begin_shutdown(self, broker: BrokerImage) -> Records:
        """As ``SharedStore.begin_shutdown``."""
        if not broker.active:
            return []
        changes = yield from self.control.without(broker.id)
        return [leaving(broker), *changes]

    def fence(self, broker: BrokerImage) -> Records:
        """As ``SharedStore.fence``."""
        if broker.fenced:
            return []
        changes = yield from self.control.without(broker.id)
        return [*changes, fencing(broker)]

    def unregister(self, broker: BrokerImage) -> Records:
        """As ``SharedStore.unregister``."""
        changes = yield from self.control.forgotten(broker.id)
        return [*changes, UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)]

    def elect_preferred(self) -> Records:
        """As ``SharedStore.elect_preferred``, a limited number of elections."""
        return list((yield from self.control.elect_preferred(ELECTIONS_AT_ONCE)))

    def elect_unclean(self) -> Records:
        """The records of unclean elections where there is no leader and the topic allows them, a limited number."""
        return list((yield from self.control.elect_unclean(ELECTIONS_AT_ONCE)))

    def elect(
        self, kind: ElectionType, wanted: Sequence[tuple[str, Sequence[int]]] | None
    ) -> Generator[float, None, tuple[Sequence[MetadataRecord], Results]]:
        """As ``SharedStore.elect``."""
        from pykbroker.controller.elections import plan_elections

        return plan_elections(self._image, kind, wanted, self.control)

    def reassign(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> tuple[Sequence[MetadataRecord], list[KafkaError | None]]:
        """As ``SharedStore.reassign``."""
        return plan_reassignments(self._image, wanted, same_factor=same_factor, control=self.control)

    def fence_stale(self, broker_id: int, epoch: int) -> Records:
        """The records that fence a broker whose session is over."""
        broker = self._image.brokers.get(broker_id)
        return [] if broker is None or broker.epoch != epoch else self.fence(broker)

    def _draft(self, offset: int) -> tuple[Draft, ReplicationControl]:
        draft = Draft(self._image, offset)
        return draft, ReplicationControl(draft.image, self._config, self._node_id)

    def _register(
        self, draft: Draft, control: ReplicationControl, broker: BrokerRegistration
    ) -> Generator[float, None, int]:
        known = draft.image.brokers.get(broker.id)
        clean = known is not None and known.epoch == broker.previous_epoch
        epoch = draft.offset
        yield from draft.add_all(control.without(broker.id) if clean else control.lost(broker.id))
        draft.add(registration(broker, epoch, self._rng, self._features, fenced=True))
        return epoch

    @staticmethod
    def _unfence(draft: Draft, control: ReplicationControl, broker_id: int) -> Generator[float, None, None]:
        changes = yield from control.unfenced(broker_id)
        draft.add(unfencing(draft.image.brokers[broker_id]))
        yield from draft.add_each(changes)
