"""Fetch: one pass over the requested partitions, which reads what is in memory and says whether that is enough to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.fetching.answer import answer, without_records
from pykbroker.handlers.fetching.reading import Reading
from pykbroker.handlers.in_slices import join_parts
from pykbroker.partitions.replica_selector import replica_to_read
from pykbroker.runtime.waits import as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.frames import CUT_SIZE
from pykbroker.wire.messages.fetch import EpochEndOffset, LeaderIdAndEpoch, PartitionData

if TYPE_CHECKING:
    from pykbroker.handlers.fetching.context import FetchContext
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.partitions.fetch_sessions import FetchItem
    from pykbroker.partitions.host import Replication
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.log.reading import ReadPlan
    from pykbroker.wire.messages.fetch import FetchResponse

#: Bytes of an answer that are read into memory, or less where memory is short; the rest stays in its files until the client
#: takes it.
INLINE_BYTES = 1024 * 1024
_LEADER_SINCE = 16
#: And where its log diverges. A session outlives a request of an older version, which is answered as such are.
_DIVERGENCE_SINCE = 12
#: Partitions of a large answer that are put into it together.
_ANSWERED_AT_ONCE = 200
#: Errors whose answers name the current leader.
_TELL_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def _has_no_name(refused: tuple[FetchItem, PartitionData]) -> bool:
    """Kafka answers these before all others that are refused."""
    return refused[1].error_code == ErrorCode.UNKNOWN_TOPIC_ID


class Attempt:
    """The result of one pass over the partitions."""

    __slots__ = (
        "cold",
        "counted",
        "fetch",
        "found",
        "inline",
        "leaders",
        "left",
        "needed",
        "refused",
        "size",
        "urgent",
    )

    def __init__(self, fetch: FetchContext) -> None:
        self.fetch = fetch
        self.size = 0
        self.counted = 0  # of min_bytes
        self.inline = fetch.broker.runtime.memory.answer_bytes(INLINE_BYTES, CUT_SIZE)
        self.left = fetch.max_bytes
        if fetch.connection is None:  # a follower in this process takes bytes
            self.inline = self.left = min(self.left, INLINE_BYTES)
        self.needed = min(fetch.request.min_bytes, self.left)
        self.urgent = False  # an error or a divergence is answered at once
        self.found: list[tuple[FetchItem, PartitionData]] = []
        self.refused: list[tuple[FetchItem, PartitionData]] = []  # unknown or not allowed: answered after the others
        self.cold: list[Reading] = []
        self.leaders: set[int] = set()

    def enough(self) -> bool:
        """Whether to send the response now: there are min bytes, or a reason not to wait for them."""
        return self.urgent or self.counted >= self.needed or self._is_last() or not self.found_any_to_wait_for()

    def _is_last(self) -> bool:
        """Whether the connection is closed once it has this answer. A follower would ask again at once, until there is another leader."""
        return self.fetch.broker.leaving and self.fetch.replica < 0

    def found_any_to_wait_for(self) -> bool:
        """Whether any partition was named; a fetch of none is answered at once."""
        session = self.fetch.session
        return bool(session.items) if session is not None else bool(self.fetch.items)

    def look_at(self, item: FetchItem) -> None:
        """Read a partition, as far as the response has room."""
        fetch = self.fetch
        if fetch.authorizer is not None and not fetch.may_read(fetch.authorizer, item.topic):
            self.urgent = True
            denied = without_records(item.index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, known=False)
            self.refused.append((item, denied))
            return
        partition = self._resolve(item)
        if isinstance(partition, ErrorCode):
            self.urgent = True
            elsewhere = fetch.broker.placed(item.topic, item.index)
            if partition is ErrorCode.NOT_LEADER_OR_FOLLOWER and elsewhere is not None:
                self._fail(item, elsewhere, partition)
            elif partition is ErrorCode.INCONSISTENT_TOPIC_ID:
                self.found.append((item, without_records(item.index, partition)))
            else:
                self.refused.append((item, without_records(item.index, partition, known=False)))
            return
        try:
            if fetch.replica >= 0 and (replication := fetch.broker.store.replication) is not None:
                self._read_for_replica(item, partition, replication)
                return
            partition.check_served_by(fetch.broker.node_id, item.current_leader_epoch, leader_only=fetch.leader_only)
            if item.last_fetched_epoch >= 0 and self._diverged(item, partition):
                return
            if fetch.rack and self._sent_to_its_rack(item, partition):
                return
            self._read(item, partition)
        except KafkaError as error:
            self._fail(item, partition, error.code)

    def _resolve(self, item: FetchItem) -> Partition | ErrorCode:
        partition = item.partition
        if partition is not None and not partition.deleted:
            return partition
        broker = self.fetch.broker
        if isinstance(item.topic, bytes):
            partition = broker.partition_by_id(item.topic, item.index)
            if partition is None:
                return self._not_there(item, broker.topic_name(item.topic))
            item.name = partition.topic
        else:
            partition = broker.partition(item.topic, item.index)
            if partition is None:
                return broker.absent(item.topic, item.index)
        self.fetch.follow(item, partition)
        return partition

    def _not_there(self, item: FetchItem, name: str | None) -> ErrorCode:
        """The error of a topic id without this partition; ``name`` is that of the topic, None if there is none.

        As in Kafka, a session remembers the name of a topic that it has seen, and the topic is then looked for by its name.
        """
        broker = self.fetch.broker
        if name is not None:
            item.name = name
            return broker.absent(name, item.index)
        if item.name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if broker.partition(item.name, item.index) is None:
            return broker.absent(item.name, item.index)
        return ErrorCode.INCONSISTENT_TOPIC_ID

    def _read(self, item: FetchItem, partition: Partition) -> None:
        fetch, log = self.fetch, partition.log
        high_watermark, last_stable_offset = log.high_watermark, log.last_stable_offset
        upper = last_stable_offset if fetch.committed else high_watermark
        limit = min(item.max_bytes, self.left)
        plan = log.plan_read(item.fetch_offset, limit, upper_offset=upper, at_least_one=not self.size)
        data = PartitionData(
            partition_index=item.index,
            high_watermark=high_watermark,
            last_stable_offset=last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if fetch.committed:
            data.aborted_transactions = []
        if plan is not None:
            size = self._carry_out(Reading(item, partition, data, plan, committed=fetch.committed), limit)
            self.size += size
            self.left -= size
            self.counted += size
            if self.counted < self.needed:
                self._count_more(plan, limit - size)
        self.found.append((item, data))

    def _read_for_replica(self, item: FetchItem, partition: Partition, replication: Replication) -> None:
        """Read for a follower: to the log end offset, and without a wait where its session knows an older high watermark. One that is out of
        sync is sent nothing while replication is above its limit.
        """
        from pykbroker.replication.following import FetchPlace

        fetch = self.fetch
        partition.check_served_by(fetch.broker.node_id, item.current_leader_epoch)
        log, led = partition.log, partition.led
        if led is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if item.last_fetched_epoch >= 0 and self._diverged(item, partition):
            return
        limit = min(item.max_bytes, self.left)
        plan = log.plan_read(item.fetch_offset, limit, at_least_one=not self.size)
        if fetch.first_look:
            place = FetchPlace(item.current_leader_epoch, item.fetch_offset, item.last_fetched_epoch)
            led.fetched(fetch.replica, fetch.replica_epoch, place, item.log_start_offset)
        data = PartitionData(
            partition_index=item.index,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if plan is not None and not replication.holds_back(partition, fetch.replica):
            size = self._carry_out(Reading(item, partition, data, plan, committed=False), limit)
            self.size += size
            self.left -= size
            self.counted += size
        if fetch.session is not None and log.high_watermark > item.sent_high_watermark:
            self.urgent = True
        self.found.append((item, data))

    def _count_more(self, plan: ReadPlan, cut: int) -> None:
        """As Kafka counts: what a limit cut off counts up to the limit, since no wait would bring it, and a read that ends
        in an older segment does not wait, since nothing is appended there.
        """
        if plan.ends_in_older_segment:
            self.urgent = True
        elif cut > 0 and plan.limited:
            self.counted += cut

    def _carry_out(self, reading: Reading, limit: int) -> int:
        """Read; returns the number of bytes, or ``limit`` if the disk must be waited for, which a thread does later."""
        brought = reading.now(max(self.inline - self.size, CUT_SIZE))
        if brought is not None:
            return brought
        self.cold.append(reading)
        return limit

    def _diverged(self, item: FetchItem, partition: Partition) -> bool:
        """Whether the client's log diverges from this one before its fetch offset; if so, the answer says where."""
        if self.fetch.version < _DIVERGENCE_SINCE:
            return False
        epoch, end = partition.log.end_offset_for_epoch(item.last_fetched_epoch)
        if epoch < 0 or end < 0 or item.fetch_offset < partition.log_start_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= item.last_fetched_epoch and end >= item.fetch_offset:
            return False
        data = without_records(item.index, ErrorCode.NONE)
        data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log_start_offset
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
        self.urgent = True
        self.found.append((item, data))
        return True

    def _sent_to_its_rack(self, item: FetchItem, partition: Partition) -> bool:
        """Whether the client is to read from a replica in its rack instead; if so, the answer says which."""
        broker = self.fetch.broker
        if partition.leader != broker.node_id:
            return False
        preferred = replica_to_read(broker.metadata.image.brokers, partition, self.fetch.rack, item.fetch_offset)
        if preferred == partition.leader:
            return False
        data = without_records(item.index, ErrorCode.NONE)
        data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log_start_offset
        data.preferred_read_replica = preferred
        self.urgent = True
        self.found.append((item, data))
        return True

    def _fail(self, item: FetchItem, partition: Partition | PartitionImage, code: int) -> None:
        data = without_records(item.index, code)
        if code in _TELL_LEADER and self.fetch.version >= _LEADER_SINCE:
            data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
            self.leaders.add(partition.leader)
        self.urgent = True
        self.found.append((item, data))

    def answer(self) -> FetchResponse:
        """The response to what was found."""
        if not self.refused:
            return answer(self.fetch, self.found, self.leaders)
        refused = sorted(self.refused, key=_has_no_name, reverse=True)
        return answer(self.fetch, self.found + refused, self.leaders)

    def answer_in_slices(self) -> Work[FetchResponse]:
        """The same for many partitions, after those that are not in memory were read in a thread."""
        if self.cold:
            run = self.fetch.broker.runtime.slices.run
            cold, self.cold = self.cold, []
            read = self.fetch.broker.runtime.offload_read(_read_all, cold)
            return read.chain(lambda _: as_wait(run(self.answer_in_slices())))
        response: FetchResponse | None = None
        found = self.found + sorted(self.refused, key=_has_no_name, reverse=True)
        for begin in range(0, len(found), _ANSWERED_AT_ONCE):
            some = answer(self.fetch, found[begin : begin + _ANSWERED_AT_ONCE], self.leaders)
            if response is None:
                response = some
            else:
                join_parts(response.responses, some.responses, lambda topic: topic.topic or topic.topic_id)
            yield _ANSWERED_AT_ONCE
        return answer(self.fetch, [], self.leaders) if response is None else response

    def finish_cold(self) -> Deferred[FetchResponse]:
        """Read what is not in the page cache in a thread, then answer."""
        read = self.fetch.broker.runtime.offload_read(_read_all, self.cold)
        return read.map(lambda _: self.answer())


def _read_all(cold: list[Reading]) -> None:
    for reading in cold:
        reading.wait()
