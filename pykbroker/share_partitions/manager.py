"""The share partitions that a broker leads, and the share sessions of its clients (KIP-932)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.requests import are_served
from pykbroker.coordination.share.state import SharePartitionKey
from pykbroker.metadata.features import SHARE_VERSION
from pykbroker.share_partitions.dead_letters.writing import DeadLetters
from pykbroker.share_partitions.group_settings import ShareGroupSettings
from pykbroker.share_partitions.leading import LedSharePartition
from pykbroker.share_partitions.sessions import ShareSession, ShareSessions
from pykbroker.share_partitions.states import Acquired

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Steps
    from pykbroker.share_partitions.host import ShareHost
    from pykbroker.share_partitions.share_partition import SharePartition
    from pykbroker.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

log = logging.getLogger(__name__)

#: The weight of releasing what a member has of a share partition (``runtime/slices.py``).
_RELEASE_WEIGHT = 5


class SharePartitions:
    """See the module. ``host`` is the broker."""

    def __init__(self, host: ShareHost) -> None:
        self._host = host
        self._letters = DeadLetters(host)
        #: Acknowledgements that members have sent, by type.
        self.acknowledgements: Counter[int] = Counter()
        self.sessions = ShareSessions(host.config["group.share.max.share.sessions"], self._session_ended)
        self._is_stopping = False
        #: By group, and within it by key.
        self._led: dict[str, dict[SharePartitionKey, LedSharePartition]] = {}
        self._unsubscribe = host.metadata.subscribe(self._follow)

    def settings(self, group_id: str) -> ShareGroupSettings:
        """The settings of a group."""
        return ShareGroupSettings(self._host.metadata, self._host.config, group_id)

    def led(self, group_id: str, partition: Partition) -> LedSharePartition:
        """The share partition of a group in a partition that the broker leads; it is opened on first use."""
        key = SharePartitionKey(group_id, partition.topic_id, partition.index)
        found = self._led.get(group_id, {}).get(key)
        if found is None or found.leader_epoch != partition.leader_epoch:
            if found is not None:
                found.end()
            found = self._led.setdefault(group_id, {})[key] = LedSharePartition(
                key,
                partition,
                self.settings(group_id),
                self._host.runtime,
                self._host.share_states,
                self._letters,
                self._forget,
            )
            if found.has_ended:
                self._forget(found)
        return found

    def opened(self, group_id: str, partition: Partition) -> LedSharePartition | None:
        """The share partition of a group in a partition that the broker leads, if a member has read from it."""
        found = self._led.get(group_id, {}).get(SharePartitionKey(group_id, partition.topic_id, partition.index))
        return found if found is not None and found.leader_epoch == partition.leader_epoch else None

    def known(self, key: SharePartitionKey) -> SharePartition | None:
        """A share partition, to look at; None if it is not led here, or no member has read from it."""
        led = self._led.get(key.group_id, {}).get(key)
        return None if led is None else led.share

    def emptied(
        self, request: ShareFetchRequest, response: ShareFetchResponse
    ) -> Generator[float, None, ShareFetchResponse]:
        """The answer to a throttled client, in slices, which has no records: they are available to all members at once. What became of
        acknowledgements is told.
        """
        group_id, member_id = request.group_id or "", request.member_id or ""
        of_group = self._led.get(group_id, {})
        for topic in response.responses:
            for told in topic.partitions:
                led = of_group.get(SharePartitionKey(group_id, topic.topic_id, told.partition_index))
                if led is not None:
                    acquired = [
                        Acquired(e.first_offset, e.last_offset, e.delivery_count) for e in told.acquired_records
                    ]
                    led.take_back(member_id, acquired)
                told.records, told.acquired_records = b"", []
                yield _RELEASE_WEIGHT
        return response

    @property
    def letters_of(self) -> Counter[str]:
        """Dead letters that were written, by group."""
        return self._letters.written

    def groups(self) -> list[str]:
        """The groups with open share partitions."""
        return list(self._led)

    def led_of(self, group_id: str) -> list[LedSharePartition]:
        """The share partitions of a group that are open."""
        return list(self._led.get(group_id, {}).values())

    def begin_stop(self) -> None:
        """The process ends: what is acquired is forgotten with it, as in Apache Kafka. Released, it would count as delivered."""
        self._is_stopping = True

    def close(self) -> None:
        """The broker has stopped."""
        self._unsubscribe()
        for group_id in list(self._led):
            for led in self.led_of(group_id):
                led.end()

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Below the levels of share groups everything is forgotten, as in Apache Kafka: what is acquired does not count as delivered."""
        if SHARE_VERSION in delta.features and not are_served(self._host):
            self._host.runtime.slices.begin(self._forgotten())

    def _forgotten(self) -> Steps:
        yield from self.sessions.forget()
        for led in [led for of_group in self._led.values() for led in of_group.values()]:
            led.end()
            yield _RELEASE_WEIGHT

    def _forget(self, led: LedSharePartition) -> None:
        of_group = self._led.get(led.key.group_id, {})
        if of_group.get(led.key) is led:
            del of_group[led.key]
            if not of_group:
                del self._led[led.key.group_id]

    def _session_ended(self, session: ShareSession) -> None:
        """Release what the member has acquired; without members the group's share partitions end."""
        if not self._is_stopping:
            self._host.runtime.slices.begin(self._released(session))

    def _released(self, session: ShareSession) -> Steps:
        group_id, member_id = session.key
        last = not self.sessions.of_group(group_id)
        for led in self.led_of(group_id):
            released = led.release(member_id)
            led.attend(released, f"releasing records of {member_id}")
            if last:
                over = released.settled().chain(lambda _, led=led: led.giving_up.over())  # type: ignore[misc]
                over.map(partial(self._end_unused, led)).or_log("ending %s", led.key)
            yield _RELEASE_WEIGHT

    def _end_unused(self, led: LedSharePartition, _: None) -> None:
        if not self.sessions.of_group(led.key.group_id):
            led.end()
