"""The share group of a story: its members, and what holds of its records at every moment and in the end (KIP-932, KIP-1191).

A record has one member within its lock, and its delivery count never falls; the start offset passes nothing that is not acknowledged
or given up; what is given up has one dead letter, and nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.share.state import UNINITIALIZED, SharePartitionKey, ShareState
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.share_partitions.dead_letters.letters import OFFSET, PARTITION, TOPIC
from pykbroker.simulation.clients.share_consumer import DELIVERIES, LOCK_MS, ShareConsumer
from pykbroker.simulation.share_ledger import ShareLedger
from pykbroker.tests.simulation.invariants import loaded_shards
from pykbroker.tests.simulation.membership import Membership
from pykbroker.wire.records import decode_records

if TYPE_CHECKING:
    from pykbroker.simulation.clients.reading import CommittedRecord
    from pykbroker.simulation.history import History, TopicPartition
    from pykbroker.simulation.share_ledger import Where
    from pykbroker.simulation.world import World

SHARERS, LETTERS = "sharers", "dlq.letters"

#: Of brokers whose stories have a share group.
SETTINGS = {
    "group.share.min.session.timeout.ms": "6000",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.heartbeat.interval.ms": "2000",
    "group.share.heartbeat.interval.ms": "2000",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.delivery.count.limit": str(DELIVERIES),
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "share.coordinator.state.topic.prune.interval.ms": "3000",
    "share.coordinator.cold.partition.snapshot.interval.ms": "10000",
}


class Sharing(Membership[ShareConsumer]):
    """See the module. ``topics`` are what the group reads; of those in ``lasting`` nothing is deleted."""

    kind = "share"
    troubles = ("crash", "crash", "stall", "leave", "nothing")

    def __init__(self, world: World, history: History, members: int, topics: list[str], lasting: str) -> None:
        super().__init__(world, history, "sharing", SHARERS, members)
        self._topics = topics
        self._lasting = lasting
        self.ledger = ShareLedger(world, history, LOCK_MS, DELIVERIES)
        #: What was persisted of each share partition when it was looked at: the state, and the delivery counts.
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._counts: dict[SharePartitionKey, dict[int, int]] = {}
        #: Offsets that the start has passed although no member has said anything of them: they have no records, or letters.
        self._passed: dict[Where, set[int]] = {}
        self._seen: dict[int, tuple[object, int]] = {}
        #: The ids of all topics that the group has read.
        self._topic_ids: set[bytes] = set()
        world.server.watchers.append(self._look)
        world.server.died.append(self._died)

    def topics(self) -> list[NewTopic]:
        """What must be there before it begins."""
        return [NewTopic(LETTERS, 1, 1, configs={"errors.deadletterqueue.group.enable": "true"})]

    def enter(self) -> None:
        """The members come, and the group has its settings."""
        self.join(
            **{
                "share.auto.offset.reset": "earliest",
                "share.isolation.level": "read_committed",
                "errors.deadletterqueue.topic.name": LETTERS,
            }
        )

    def member(self, number: int) -> ShareConsumer:
        return ShareConsumer(self._world, self.ledger, f"sharer{number}", SHARERS, self._topics)

    def quiet(self) -> None:
        """Members process all that can be processed."""
        self.ledger.quiet = True

    # At every moment

    def _died(self, manner: str) -> None:
        if manner == "lost power":
            self._states.clear()
            self._counts.clear()

    def _look(self) -> None:
        cluster = self._world.server.cluster
        if cluster is None:
            return
        for number, loaded in loaded_shards(cluster, SHARE_GROUP_STATE):
            seen = (loaded.shard, loaded.partition.log_end_offset)
            if self._seen.get(number) == seen:
                continue  # states change by records alone
            self._seen[number] = seen
            for key, state in loaded.shard.states.items():
                if state is not self._states.get(key):
                    self._look_at(key, state)

    def _look_at(self, key: SharePartitionKey, state: ShareState) -> None:
        before = self._states.get(key)
        self._states[key] = state
        self._topic_ids.add(key.topic_id)
        where = (key.topic_id, key.partition)
        if before is not None and before.state_epoch == state.state_epoch:
            if state.start_offset < before.start_offset:
                self._history.wrong(f"{key} went back from {before.start_offset} to {state.start_offset}")
            self._look_at_passed(where, before.start_offset, state.start_offset)
        counts = self._counts.setdefault(key, {})
        for batch in state.batches:
            for offset in range(batch.first, batch.last + 1):
                if batch.deliveries < counts.get(offset, 0):
                    self._history.wrong(f"{key} {offset}: {counts[offset]} deliveries, and then {batch.deliveries}")
                counts[offset] = batch.deliveries

    def _look_at_passed(self, where: Where, before: int, after: int) -> None:
        for offset in range(max(before, 0), after):
            if not self.ledger.may_be_over(where, offset):
                self._passed.setdefault(where, set()).add(offset)

    # In the end

    def unfinished(self, ends: dict[TopicPartition, int]) -> list[str]:
        """The share partitions of what lasts that are not read to their ends, as their leader knows it: what it has passed is written
        with the next change, and of aborted records nothing.
        """
        cluster = self._world.server.running
        image = cluster.metadata.image
        starts = {
            (led.key.topic_id, led.key.partition): led.start_offset
            for broker in cluster.brokers.values()
            for led in broker.share_partitions.led_of(SHARERS)
        }
        found = []
        for (topic, index), end in ends.items():
            if topic == self._lasting:
                start = starts.get((image.topics[topic].id, index), UNINITIALIZED)
                if start < end:
                    found.append(f"{SHARERS} at {start} of {end} in {topic}-{index}")
        return found

    def check(self, records: dict[TopicPartition, list[CommittedRecord]]) -> None:
        """Every record was accepted, or it has a letter; none has two. A letter does not say of which topic of that name it is."""
        letters = self._letters()
        image = self._world.server.running.metadata.image
        others = len(self._topic_ids - {image.topics[self._lasting].id})
        twice = {each: count for each, count in letters.items() if count > (1 if each[0] == self._lasting else others)}
        assert not twice, f"more than one dead letter: {twice}"
        for (topic, index), some in records.items():
            if topic != self._lasting:
                continue
            where = (image.topics[topic].id, index)
            for record in some:
                letter = letters[topic, index, record.offset]
                self._history.count("share record with a letter" if letter else "share record accepted")
                done = letter or self.ledger.is_accepted(where, record.offset)
                assert done, f"{topic}-{index} {record.offset} is lost: {record.value!r}"
                passed = record.offset in self._passed.get(where, ())
                assert letter or not passed, f"the start passed {topic}-{index} {record.offset}"

    def _letters(self) -> Counter[tuple[str, int, int]]:
        """The letters of each record."""
        partition = self._world.server.running.partition(LETTERS, 0)
        assert partition is not None
        found: Counter[tuple[str, int, int]] = Counter()
        for header, batch in partition.log.batches():
            for each in decode_records(batch, header=header):
                said = dict(each.headers)
                found[(said[TOPIC] or b"").decode(), int(said[PARTITION] or b""), int(said[OFFSET] or b"")] += 1
        return found
