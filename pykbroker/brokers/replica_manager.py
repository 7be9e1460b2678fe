"""The replication of one broker's partitions, where it has a store of its own: whom it follows, what it proposes to the controller.

Partitions lead by themselves (``partitions/leadership.py``). Here is what they share: the fetchers, one for each leader, the AlterPartition
and AssignReplicasToDirs requests, the broker's epoch, and the round that looks for followers that lag.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.brokers.directory_assignments import AssignReplicasToDirs, DirectoryAssignments
from pykbroker.brokers.replica_fetcher import Key, Peers, ReplicaFetcher
from pykbroker.brokers.replication_throttles import ReplicationThrottles
from pykbroker.metadata.image import NO_LEADER
from pykbroker.partitions.following import FollowedPartition
from pykbroker.replication.altering import RETRY_MS, Altering, AlterRequest
from pykbroker.replication.isr import CommittedIsr, ProposedIsr
from pykbroker.runtime.waits import Deferred, as_wait, attempt, gather
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    BrokerState,
)

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.log.log import Log

log = logging.getLogger(__name__)

#: The least time, in milliseconds, between two rounds that look for followers that lag.
_SHORTEST_ROUND_MS = 100
_WEIGHT = 2

AlterPartition = Callable[[AlterPartitionRequest], Deferred[AlterPartitionResponse]]
#: The controller's answer for one partition: what it has now, or an error code.
AlterAnswer = CommittedIsr | int


class ReplicaManager:
    """See the module."""

    def __init__(
        self,
        node_id: int,
        config: BrokerConfig,
        logs: LogManager,
        metadata: MetadataSource,
        runtime: Runtime,
        peers: Peers,
        alter_partition: AlterPartition,
        assign_replicas_to_dirs: AssignReplicasToDirs,
    ) -> None:
        self.node_id = node_id
        self.lag_ms: int = config["replica.lag.time.max.ms"]
        self.fetch_times: dict[int, int] = {}
        self.registered = False
        self._config = config
        self._logs = logs
        self._metadata = metadata
        self._runtime = runtime
        self._peers = peers
        self._alter_partition = alter_partition
        self._assign_replicas_to_dirs = assign_replicas_to_dirs
        #: While the broker is registered.
        self._assignments: DirectoryAssignments | None = None
        #: The limits of what this broker's replicas send and fetch.
        self.throttles = ReplicationThrottles(node_id, config, metadata.image, self.now_ms())
        self._epoch = -1
        #: The partitions of the store.
        self._partitions: Mapping[tuple[str, int], Partition] = {}
        self._altering: Altering[Partition, ProposedIsr] = Altering()
        self._fetchers: dict[int, ReplicaFetcher] = {}
        #: The leader of each followed partition.
        self._followed: dict[Key, tuple[int, FollowedPartition]] = {}

    # -- the broker's life --------------------------------------------------------------------------------------------

    def begin(
        self, partitions: Mapping[tuple[str, int], Partition], dormant: DormantLogs, epoch: int
    ) -> Deferred[None]:
        """The broker is registered with ``epoch``: its replicas lead and follow from now on. Logs are opened for that, and followers begin,
        some in a turn; the wait is over when all have. Of a broker that is registered anew while it runs all begins again: leaders believe no
        fetch of an earlier epoch.
        """
        if self.registered:
            self.end()
        self._partitions, self._epoch, self.registered = partitions, epoch, True
        self._assignments = DirectoryAssignments(self.node_id, epoch, self._runtime, self._assign_replicas_to_dirs)
        self._runtime.timers.after(self._round_ms, partial(self._look_for_lag, dormant, epoch))
        following = []
        for partition in [each for each in partitions.values() if each.opened_log is not None]:
            if partition.leader == self.node_id:
                partition.take_role()  # before a client comes: until then an append would wait for nobody
            else:
                following.append(partition)
        begun = as_wait(self._runtime.slices.run(self._follow_all(following, epoch)))
        return gather([begun, dormant.open(self._closed())]).map(lambda _: None)

    def _follow_all(self, partitions: list[Partition], epoch: int) -> Work[None]:
        for partition in partitions:
            if self._epoch == epoch and self.registered:
                partition.take_role()
            yield _WEIGHT
        return None

    def _closed(self) -> list[Partition]:
        return [each for each in self._partitions.values() if each.opened_log is None and len(each.replicas) > 1]

    def end(self) -> None:
        """The broker has stopped: its replicas neither lead nor follow."""
        self.cease()
        for partition in self._partitions.values():
            partition.take_role()

    def cease(self) -> None:
        """Ask and answer nobody any more. Partitions are told by their ``take_role``."""
        self.registered = False
        if self._assignments is not None:
            self._assignments.end()
            self._assignments = None
        for fetcher in self._fetchers.values():
            fetcher.end()
        self._fetchers.clear()
        self._followed.clear()
        self._altering = Altering()
        self.fetch_times.clear()

    @property
    def _round_ms(self) -> int:
        return max(self.lag_ms // 2, _SHORTEST_ROUND_MS)

    def _look_for_lag(self, dormant: DormantLogs, epoch: int) -> None:
        """Look at all partitions that are led, some in each turn, and again after half the time that a replica may lag. Logs that could not
        be opened, since a disk was full, are tried again.
        """
        if self._epoch != epoch or not self.registered:
            return
        if not any(each.directory.offline for each in self._logs.directories):
            refused = [each for each in self._closed() if each not in dormant.partitions]
            dormant.open(refused).or_log("opening replicas of %d again", self.node_id)
        led = [each for each in self._partitions.values() if each.led is not None]

        def steps() -> Steps:
            for partition in led:
                if partition.led is not None:
                    partition.led.check_lag()
                yield _WEIGHT

        self._runtime.slices.add(steps())
        self._runtime.timers.after(self._round_ms, partial(self._look_for_lag, dormant, epoch))

    # -- what partitions ask for --------------------------------------------------------------------------------------

    def epoch_of(self, broker_id: int) -> int | None:
        broker = self._metadata.image.brokers.get(broker_id)
        return broker.epoch if broker is not None and broker.active else None

    def image_of(self, partition: Partition) -> PartitionImage | None:
        topic = self._metadata.image.topic_by_id(partition.topic_id)
        return None if topic is None else topic.partitions.get(partition.index)

    def now_ms(self) -> int:
        return int(self._runtime.clock.monotonic() * 1000)

    def wall_ms(self) -> int:
        return self._runtime.clock.now_ms()

    def holds_back(self, partition: Partition, replica: int) -> bool:
        led = partition.led
        if led is None or replica in led.leading.isr.committed:
            return False
        return self.throttles.leader.holds_back(partition.topic, partition.index, self.now_ms())

    def sent(self, partition: Partition, size: int) -> None:
        self.throttles.leader.moved(partition.topic, partition.index, size, self.now_ms())

    def in_thread(self, work: Callable[[], None]) -> Deferred[None]:
        return attempt(self._runtime.offload, work)

    def write_checkpoints(self, log: Log) -> Deferred[None]:
        self._logs.note_checkpoints([log])
        return attempt(self._runtime.offload, self._logs.plan_checkpoints())

    def note_directory(self, partition: Partition, image: PartitionImage, log: Log) -> None:
        if self._assignments is None or log.directory.offline:
            return
        directory = self._logs.id_of(log.directory)
        if self.node_id in image.replicas and image.directory_of(self.node_id) != directory:
            self._assignments.want(partition.topic_id, partition.index, directory)

    # -- following ----------------------------------------------------------------------------------------------------

    def take_up(self, partition: Partition, log: Log) -> None:
        key = partition.topic_id, partition.index
        leader = partition.leader
        follows = (
            self.registered
            and leader not in (self.node_id, NO_LEADER)
            and self.node_id in partition.replicas
            and not partition.deleted
            and not log.directory.offline  # its fetch would look as if it were in sync
        )
        before = self._followed.get(key)
        if before is not None:
            before_leader, followed = before
            same = before_leader == leader and followed.machine.leader_epoch == partition.leader_epoch
            if follows and same and followed.log is log:
                return
            self.drop(key)
        if follows:
            followed = FollowedPartition(partition, log, self)
            self._followed[key] = leader, followed
            fetcher = self._fetchers.get(leader)
            if fetcher is None:
                fetcher = self._fetchers[leader] = ReplicaFetcher(
                    self.node_id, self._epoch, leader, self._peers, self._config, self._runtime, self.throttles.follower
                )
            fetcher.add(followed)

    def drop(self, key: Key) -> None:
        """Follow this partition no more."""
        found = self._followed.pop(key, None)
        if found is None:
            return
        leader, _ = found
        fetcher = self._fetchers[leader]
        fetcher.remove(key)
        if not len(fetcher):
            fetcher.end()
            del self._fetchers[leader]

    # -- the ISR ------------------------------------------------------------------------------------------------------

    def propose(self, partition: Partition, change: ProposedIsr) -> None:
        self._altering.submit(partition, change)
        self._runtime.wake_queue.add(self._send)

    def _send(self) -> None:
        """Send what is proposed, unless a request is under way."""
        request = self._altering.next_request() if self.registered else None
        if request is None:
            return
        altering = self._altering
        asked = attempt(self._alter_partition, self._request(request))
        asked.fold(partial(self._answered, altering, request)).or_log("changing in-sync replicas")

    def _request(self, request: AlterRequest[Partition, ProposedIsr]) -> AlterPartitionRequest:
        topics: dict[bytes, AlterPartitionRequestTopicData] = {}
        for partition, change in request.changes.items():
            topic = topics.setdefault(partition.topic_id, AlterPartitionRequestTopicData(partition.topic_id))
            topic.partitions.append(
                AlterPartitionRequestPartitionData(
                    partition_index=partition.index,
                    leader_epoch=change.leader_epoch,
                    new_isr_with_epochs=[
                        BrokerState(member.broker_id, member.broker_epoch) for member in change.members
                    ],
                    partition_epoch=change.partition_epoch,
                )
            )
        return AlterPartitionRequest(self.node_id, self._epoch, list(topics.values()))

    def _answered(
        self,
        altering: Altering[Partition, ProposedIsr],
        request: AlterRequest[Partition, ProposedIsr],
        done: Deferred[AlterPartitionResponse],
    ) -> None:
        if altering is not self._altering:  # the broker has stopped since
            return
        if done.error is not None or done.value.error_code:
            if done.error is not None and not isinstance(done.error, KafkaError):
                log.error("AlterPartition failed", exc_info=done.error)
            altering.failed(request.number)
            self._runtime.timers.after(RETRY_MS, self._send)
            return
        settled = altering.answered(request.number, _answers(request, done.value))
        again = [
            partition.led is not None and partition.led.settle(change, answer) for partition, change, answer in settled
        ]
        if any(again) or len(settled) < len(request.changes):
            altering.resting = True
            self._runtime.timers.after(RETRY_MS, partial(self._go_on, altering))
        self._runtime.wake_queue.add(self._send)

    def _go_on(self, altering: Altering[Partition, ProposedIsr]) -> None:
        altering.resting = False
        self._send()


def _answers(
    request: AlterRequest[Partition, ProposedIsr], response: AlterPartitionResponse
) -> dict[Partition, AlterAnswer]:
    """The answer for each partition of a request."""
    by_id = {(each.topic_id, each.index): each for each in request.changes}
    answers: dict[Partition, AlterAnswer] = {}
    for topic in response.topics:
        for each in topic.partitions:
            partition = by_id.get((topic.topic_id, each.partition_index))
            if partition is not None:
                answers[partition] = each.error_code or CommittedIsr(
                    each.leader_epoch, each.partition_epoch, tuple(each.isr)
                )
    return answers
