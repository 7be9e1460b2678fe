"""What must hold at every moment, whatever the seed did, seen from inside the brokers."""

from __future__ import annotations

import random

from pykbroker.brokers.cluster import Cluster
from pykbroker.coordination.groups import records as group_records
from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.shards import Loaded
from pykbroker.coordination.transactions import records as transaction_records
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.coordination.transactions.transaction import AT_REST, PREPARED, Transaction, TransactionState
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.partitions.fetch_sessions import FetchSession
from pykbroker.partitions.partition import Partition
from pykbroker.runtime.runtime import Runtime
from pykbroker.share_partitions.leading import LedSharePartition
from pykbroker.simulation.history import History
from pykbroker.simulation.world import World

#: So long a transaction that is decided may take to come to its end, where the process goes on.
_LONGEST_END_MS = 5000


class Watch:
    """Looks at the brokers after everything that they do, at what can have changed by it. ``groups`` are those with members."""

    def __init__(self, world: World, history: History, groups: tuple[str, ...]) -> None:
        self._world = world
        self._history = history
        self._groups_with_members = groups
        #: Topic id and partition to high watermark, last stable offset and log start offset.
        self._ends: dict[tuple[bytes, int], tuple[int, int, int]] = {}
        #: Group, topic id, topic and partition to committed offset.
        self._committed: dict[tuple[str, bytes, str, int], int] = {}
        #: Partition of the offsets topic to what its offsets depend on, as it was when they were looked at.
        self._seen: dict[int, tuple[GroupShard, int, int, int]] = {}
        #: Transactional id to what is known of it.
        self._transactions: dict[str, Transaction] = {}
        #: Partition of the transactions topic to its shard and its end, as they were when it was looked at, and the transactional
        #: ids whose transactions were coming to their end.
        self._seen_transactions: dict[int, tuple[TransactionShard, int, list[str]]] = {}
        #: Transactional id to the transaction that is coming to its end, since when, and in which process.
        self._ending: dict[str, tuple[Transaction, int, Cluster]] = {}
        #: Partition of the offsets topic to the groups that were in it, and whether their generations are those of a new group.
        self._groups: dict[int, dict[str, bool]] = {}
        self._topics: dict[bytes, str] = {}
        #: The process and the offset of its metadata when topics were looked at, and the first partition of each.
        self._looked_at: tuple[Cluster, int] | None = None
        self._first: dict[bytes, Partition] = {}
        #: Topic id to when it was first there.
        self.born_ms: dict[bytes, int] = {}
        world.server.watchers.append(self.look)

    def look(self) -> None:
        cluster = self._world.server.cluster
        if cluster is not None:
            self._look_at_topics(cluster)
            self._look_at_partitions(cluster)
            self._look_at_groups(cluster)
            self._look_at_watchers(cluster)
            self._look_at_offsets(cluster)
            self._look_at_transactions(cluster)

    def lost_power(self) -> None:
        """What nobody was told of may be gone; what was told is checked at the end."""
        self._ends.clear()
        self._committed.clear()
        self._seen.clear()

    def _look_at_topics(self, cluster: Cluster) -> None:
        """Nothing is wrong here; what happened is noted."""
        image = cluster.metadata.image
        if self._looked_at == (cluster, image.offset):
            return
        self._looked_at = cluster, image.offset
        gone = self._topics.keys() - image.topics_by_id.keys()
        for topic_id in image.topics_by_id.keys() - self._topics.keys():
            self.born_ms[topic_id] = self._world.now_ms
        if gone:
            names = {self._topics[topic_id] for topic_id in gone}
            for each in (
                each for shard in transaction_shards(cluster).values() for each in shard.transactions.values()
            ):
                if each.state not in AT_REST and any(topic in names for topic, _ in each.partitions):
                    ending = "that ends" if each.state in PREPARED else "that is open"
                    self._history.count(f"topic deleted under a transaction {ending}")
            self._look_at_syncs(gone)
        self._topics = {topic_id: topic.name for topic_id, topic in image.topics_by_id.items()}
        self._first = {each.topic_id: each for each in cluster.partitions() if each.index == 0}

    def _look_at_syncs(self, gone: set[bytes]) -> None:
        for topic_id in gone & self._first.keys():
            commit = self._first[topic_id]._group_commit
            if commit is not None and commit._running is not None:
                self._history.count("topic deleted under a sync")
            if commit is not None and commit._waiting is not None:
                self._history.count("topic deleted before a sync")

    def _look_at_partitions(self, cluster: Cluster) -> None:
        for partition in cluster.partitions():
            log = partition.opened_log
            if log is None:
                continue
            key = (partition.topic_id, partition.index)
            now = (log.high_watermark, log.last_stable_offset, log.log_start_offset)
            before = self._ends.get(key)
            if before == now:
                continue
            before = before or now
            # What DeleteRecords did may not be on the disk when the server is killed.
            undone = now[2] < before[2]
            if now[0] < before[0] or (now[1] < before[1] and not undone) or not now[2] <= now[1] <= now[0]:
                self._history.wrong(f"ends of {partition!r} went from {before} to {now}")
            self._ends[key] = now

    def _look_at_groups(self, cluster: Cluster) -> None:
        """The generations of a group begin anew where nobody was in it and it had committed nothing, and where a classic
        member finds a consumer group that nobody is in: as in Kafka, a new group takes its place.
        """
        for index, shard in group_shards(cluster).items():
            before = self._groups.get(index, {})
            now = {
                name: isinstance(group, ClassicGroup) and not group.generation
                for name in self._groups_with_members
                if (group := shard.groups.get(name)) is not None
            }
            if before != now:
                for group, was_new in before.items():
                    if now.get(group, True) and not was_new:
                        self._history.forgotten(group)
                self._groups[index] = now

    def _look_at_watchers(self, cluster: Cluster) -> None:
        """Nobody watches a partition for a session that is closed or a connection that is gone."""
        sessions = {
            session for broker in cluster.brokers.values() for session in broker.fetch_sessions._sessions.values()
        }
        fetches = [session.waiter for session in sessions if session.waiter is not None]
        for partition in cluster.partitions():
            for watcher in partition.watchers:
                if isinstance(watcher, LedSharePartition):
                    self._look_at_share_partition(watcher)
                elif not isinstance(watcher, FetchSession):
                    fetches.append(watcher)
                elif watcher not in sessions:
                    self._history.wrong(f"a session that is closed watches {partition!r}")
        for fetch in fetches:
            if fetch.connection.closed:
                self._history.wrong("a fetch waits whose connection is gone")

    def _look_at_share_partition(self, led: LedSharePartition) -> None:
        for wake in led.waiting:
            fetch = wake.__self__  # type: ignore[attr-defined]
            if fetch.ctx.connection.closed:
                self._history.wrong(f"a member waits for {led.key} whose connection is gone")

    def _look_at_offsets(self, cluster: Cluster) -> None:
        for number, loaded in loaded_shards(cluster, CONSUMER_OFFSETS):
            shard, hidden = loaded.shard, loaded.shard.committed._hidden
            seen = (
                shard,
                loaded.partition.log_end_offset,
                sum(map(len, hidden.values())),
                cluster.metadata.image.offset,
            )
            if self._seen.get(number) == seen:
                continue  # offsets change by records alone
            self._seen[number] = seen
            for group, topic, index, committed in shard.committed.offsets:
                if any(gone(topic, committed) for gone in (*hidden.get(topic, ()), *hidden.get(None, ()))):
                    continue  # of a topic that is gone: nobody is given it any more
                image = cluster.metadata.image.topic(topic)
                key = (group, b"" if image is None else image.id, topic, index)
                before = self._committed.get(key, -1)
                if committed.offset == before:
                    continue
                self._committed[key] = committed.offset
                if committed.offset < before and not self._history.may_go_back(group, (topic, index)):
                    self._history.wrong(f"{group} {topic}-{index} went back from {before} to {committed.offset}")

    def _look_at_transactions(self, cluster: Cluster) -> None:
        """What is decided comes to its end; what happened is counted."""
        for number, loaded in loaded_shards(cluster, TRANSACTION_STATE):
            shard, end = loaded.shard, loaded.partition.log_end_offset
            seen = self._seen_transactions.get(number)
            if seen is None or seen[0] is not shard or seen[1] != end:  # transactions change by records alone
                self._look_at_changes(shard)
                ending = [name for name, now in shard.transactions.items() if now.state in PREPARED]
                seen = self._seen_transactions[number] = shard, end, ending
            for name in seen[2]:
                self._look_at_end(cluster, name, shard.transactions[name])

    def _look_at_changes(self, shard: TransactionShard) -> None:
        for name, now in shard.transactions.items():
            if now is self._transactions.get(name):
                continue
            self._transactions[name] = now
            if now.state is TransactionState.COMPLETE_ABORT:
                late = now.updated_ms - now.start_ms > now.timeout_ms
                self._history.count("transaction timed out" if late else "transaction aborted")
            elif now.state is TransactionState.COMPLETE_COMMIT:
                self._history.count("transaction committed")

    def _look_at_end(self, cluster: Cluster, name: str, now: Transaction) -> None:
        before, since_ms, process = self._ending.get(name, (None, 0, None))
        if before is not now or process is not cluster:
            self._ending[name] = now, self._world.now_ms, cluster
        elif self._world.now_ms - since_ms > _LONGEST_END_MS:
            self._history.wrong(f"{name} is in {now.state.name} since {since_ms}, at {self._world.now_ms}")


def loaded_shards(cluster: Cluster, topic: str) -> list[tuple[int, Loaded]]:
    """The shards of a coordinator's topic that are loaded, by their partitions, whose logs are open: nothing is opened by looking at it."""
    created = [broker.coordinators.created.get(topic) for broker in cluster.brokers.values()]
    return [
        (index, loaded)
        for coordinator in created
        if coordinator is not None
        for index, loaded in coordinator.shards.loaded.items()
        if loaded.partition.opened_log is not None
    ]


def group_shards(cluster: Cluster) -> dict[int, GroupShard]:
    return {index: loaded.shard for index, loaded in loaded_shards(cluster, CONSUMER_OFFSETS)}


def transaction_shards(cluster: Cluster) -> dict[int, TransactionShard]:
    return {index: loaded.shard for index, loaded in loaded_shards(cluster, TRANSACTION_STATE)}


# The state that coordinators must find again


def dump_group_shard(shard: GroupShard) -> dict:
    """Everything that a restart must bring back, in a form that can be compared."""
    return {
        "offsets": {
            (group, topic, index): (each.offset, each.metadata, each.commit_timestamp_ms, each.topic_id)
            for group, topic, index, each in shard.committed.offsets
        },
        "pending": {
            producer_id: {where: each.offset for where, each in offsets.items()}
            for producer_id, offsets in shard.committed.pending._producers.items()
        },
        "groups": {group_id: dump_group(group) for group_id, group in shard.groups.items()},
    }


def dump_group(group) -> tuple:
    """A classic group at rest (of one that rebalances nothing but its name is sure to be in the log), or all of a group
    of another kind, which is always in the log.
    """
    if isinstance(group, ShareGroup):
        states = [
            {topic_id: (each.name, each.partitions) for topic_id, each in topics.items()}
            for topics in (group.initialized, group.initializing)
        ]
        target = (group.target_epoch, group.target_timestamp_ms, dict(group.targets))
        return (group.epoch, group.metadata_hash, *target, dict(group.members), *states, dict(group.deleting))
    if isinstance(group, StreamsGroup):
        topology = None if group.topology is None else (group.topology.epoch, group.topology.subtopologies)
        target = (group.target_epoch, group.target_timestamp_ms, dict(group.targets))
        return (group.facts, *target, dict(group.members), topology)
    if isinstance(group, ConsumerGroup):
        return (group.epoch, group.target_epoch, group.metadata_hash, dict(group.targets), dict(group.members))
    if group.state.name not in ("EMPTY", "STABLE"):
        return ("rebalancing",)
    members = {
        each.member_id: (each.instance_id, each.session_timeout_ms, each.metadata(group.protocol), each.assignment)
        for each in group.members
    }
    return (group.state, group.generation, group.protocol_type, group.protocol, group.members.leader, members)


def dump_transactions(shard: TransactionShard) -> dict:
    """Everything but the last epoch, for which Kafka's record has no room."""
    from dataclasses import replace

    return {name: replace(each, last_producer_epoch=-1) for name, each in shard.transactions.items()}


def dump(cluster: Cluster) -> dict:
    """The coordinators of a running server."""
    return {
        **{(CONSUMER_OFFSETS, index): dump_group_shard(shard) for index, shard in group_shards(cluster).items()},
        **{
            (TRANSACTION_STATE, index): dump_transactions(shard) for index, shard in transaction_shards(cluster).items()
        },
    }


def replayed(world: World, topic: str, index: int) -> dict:
    """The same of one partition, read out of its log by a coordinator that knows nothing else."""
    cluster = world.server.running
    partition = cluster.partition(topic, index)
    runtime = Runtime(world.clock, random.Random(0))  # which has no threads
    if topic == TRANSACTION_STATE:
        shard = TransactionShard()
        replay_all(LogReplay(runtime, partition, shard, transaction_records))
        return dump_transactions(shard)
    groups = GroupShard(Surroundings(world.clock, GroupSettings.from_config(cluster.config), cluster.metadata.image))
    replay_all(LogReplay(runtime, partition, groups, group_records))
    return dump_group_shard(groups)


def replay_all(replay: LogReplay) -> None:
    while replay.advance(10**9) is not None:
        pass


def differences(before: dict, world: World) -> list[str]:
    """What a restarted server reads out of its logs that is not as it was when the server was killed."""
    found = []
    for (topic, index), was in before.items():
        now = replayed(world, topic, index)
        if topic == CONSUMER_OFFSETS:
            for group_id, state in was["groups"].items():
                if state == ("rebalancing",) and group_id in now["groups"]:
                    now["groups"][group_id] = state
        if was != now:
            found += [f"{topic}-{index}: before {was}", f"{topic}-{index}: after  {now}"]
    return found
