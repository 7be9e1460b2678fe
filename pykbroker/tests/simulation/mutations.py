"""Each rule of replication switched off, on brokers, replicas and controller alike. What takes its place is as short as it can be."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

from pykbroker.brokers.replica_fetcher import ReplicaFetcher
from pykbroker.controller import alter_partition, partition_changes
from pykbroker.controller.replication_control import ReplicationControl
from pykbroker.handlers.fetching import answer
from pykbroker.handlers.fetching.attempt import Attempt
from pykbroker.partitions.following import FollowedPartition
from pykbroker.partitions.leadership import Leadership
from pykbroker.partitions.partition import Partition
from pykbroker.replication.altering import Altering, AlterRequest
from pykbroker.replication.following import FollowerDecision, FollowerStep, Following
from pykbroker.replication.isr import CommittedIsr, Isr, IsrMember, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.state import LogState


class Mutation(NamedTuple):
    """What is switched off, and a seed of a small world that shows it, or the name of a story."""

    owner: Any
    name: str
    without: Any
    seed: int = 0
    story: str = ""


def _no_maximal_isr(self: Isr, members: Iterable[IsrMember]) -> ProposedIsr:
    self.proposed = ProposedIsr(self.leader_epoch, self.partition_epoch, tuple(sorted(members)))
    return self.proposed


def _shrinks_at_once(self: Isr, members: Iterable[IsrMember]) -> ProposedIsr:
    change = _propose(self, members)
    self.maximal = frozenset(member.broker_id for member in change.members)
    return change


def _joins_below_the_high_watermark(self: Leading, _: int, now_ms: int) -> ProposedIsr | None:
    start, self.epoch_start = self.epoch_start, 0
    try:
        return _expansion(self, 0, now_ms)
    finally:
        self.epoch_start = start


def _old_incarnations_join(self: Leading, replica: int, progress: Any) -> bool:
    progress.broker_epoch = self.brokers.epoch_of(replica) or -1
    return True


def _forgets_later_incarnations(self: Leading, replica: int, *fetched: int) -> bool:
    if replica in self.followers:
        self.followers[replica].broker_epoch = -1
    return _fetched(self, replica, *fetched)


def _cuts_to_the_high_watermark(self: Following, *_: int) -> FollowerDecision:
    self._busy = True
    return FollowerDecision(FollowerStep.TRUNCATE, self._log.high_watermark)


def _cuts_to_the_leaders_end(self: Following, _: int, leader_end: int) -> FollowerDecision:
    self._busy = True
    return FollowerDecision(FollowerStep.TRUNCATE, min(leader_end, self._log.log_end_offset))


def _never_diverges(self: Attempt, *_: Any) -> bool:
    return False


def _counts_only_itself(self: Leading, log_end: int, _: int) -> int:
    return log_end


def _counts_without_enough(self: Leading, log_end: int, now_ms: int) -> int:
    least, self.min_in_sync = self.min_in_sync, 1
    try:
        return _high_watermark(self, log_end, now_ms)
    finally:
        self.min_in_sync = least


def _everybody_may(*_: Any) -> None:
    return None


def _any_epoch(self: Partition, node_id: int, _: int, *, leader_only: bool = True) -> None:
    _check_served_by(self, node_id, -1, leader_only=leader_only)


def _decides_without_epoch(control: Any, broker_id: int, topic: Any, wanted: Any) -> Any:
    wanted.partition_epoch = topic.partitions[wanted.partition_index].partition_epoch
    return _plan(control, broker_id, topic, wanted)


def _crash_is_a_stop(self: ReplicationControl, broker_id: int) -> Any:
    return self.without(broker_id)


def _anybody_leads(before: Any, target: Any, eligible: Any, around: Any, election: Any) -> Any:
    living = [replica for replica in reversed(target.replicas) if around.may_lead(replica)]
    return partition_changes._Elected(living[0] if living else -1)


def _no_list_of_eligible(*_: Any) -> list[int]:
    return []


def _all_is_committed(self: LogManager, *args: Any, has_other_replicas: bool = False) -> Log:
    return _open(self, *args, has_other_replicas=False)


def _follower_notes_the_epoch(self: Partition, log: Log, image: Any, replication: Any) -> None:
    log.begin_epoch(self.leader_epoch)
    _take_role(self, log, image, replication)


def _waits_go_on(self: Leadership, code: Any = None) -> None:
    return None


def _committed_at_once(self: Partition, end: int | None = None) -> None:
    return None


def _told_while_cutting(session: Any, item: Any, data: Any, incremental: bool) -> bool:
    was, session.is_replica = session.is_replica, False
    try:
        return _to_send(session, item, data, incremental)
    finally:
        session.is_replica = was


def _keeps_what_it_has(self: FollowedPartition, decision: FollowerDecision) -> Any:
    return _cut(self, decision._replace(offset=self.log.log_end_offset))


def _session_stays(self: ReplicaFetcher) -> None:
    return None


def _never_again(self: ReplicaFetcher, _: int | None = None) -> None:
    self._resting = True


def _lost_proposals(self: Altering[Any, Any], number: int) -> None:
    if self._sent is not None and self._sent.number == number:
        self._waiting.clear()
        self._sent = None


def _nobody_lags(self: Leading, *_: int) -> None:
    return None


def _from_a_replica_without_role(self: Attempt, item: Any, partition: Partition) -> None:
    self._read(item, partition)


def _goes_back(self: LogState, offset: int) -> None:
    self.high_watermark = offset


def _one_behind_the_other(self: Altering[Any, Any]) -> AlterRequest[Any, Any] | None:
    self._sent = None
    return _next_request(self)


def _takes_any_answer(self: Isr, _: ProposedIsr, answer: CommittedIsr) -> bool:
    self._commit(answer.partition_epoch, answer.members)
    return True


def _drops_what_is_proposed(self: Isr, partition_epoch: int, members: Iterable[int]) -> bool:
    if partition_epoch >= self.partition_epoch:
        self._commit(partition_epoch, members)
    return True


def _eligible_for_ever(before: Any, target: Any, _: Any) -> list[int]:
    known = {*before.eligible_leader_replicas, *before.isr} - {*target.isr, *target.after_unclean_shutdown}
    return sorted(known & {*target.replicas})


def _anybody_joins(*_: Any) -> bool:
    return True


def _stays_in_sync(*_: Any) -> Generator[float, None, list[Any]]:
    yield from ()
    return []


_propose, _expansion, _fetched = Isr.propose, Leading.expansion, Leading.fetched
_check_served_by, _plan = Partition.check_served_by, alter_partition._plan
_high_watermark, _open = Leading.high_watermark, LogManager.open
_next_request = Altering.next_request
_take_role, _to_send, _cut = Partition._take_role, answer._to_send, FollowedPartition.cut

MUTATIONS: dict[str, Mutation] = {
    "the maximal ISR counts while a larger one is proposed": Mutation(Isr, "propose", _no_maximal_isr),
    "a smaller ISR counts when it is committed": Mutation(Isr, "propose", _shrinks_at_once, 1),
    "who joins has all that is committed": Mutation(Leading, "expansion", _joins_below_the_high_watermark, 4),
    "an ended incarnation does not join": Mutation(Leading, "_may_join", _old_incarnations_join, 3),
    "a late fetch of an ended incarnation hides no later one": Mutation(
        Leading, "fetched", _forgets_later_incarnations, 1304
    ),
    "logs are not cut to the high watermark (KIP-101)": Mutation(
        Following, "_cut", _cuts_to_the_high_watermark, story="kip_101"
    ),
    "logs are cut to a common epoch (KIP-279)": Mutation(Following, "_cut", _cuts_to_the_leaders_end, 23),
    "the leader tells where logs part (KIP-595)": Mutation(Attempt, "_diverged", _never_diverges),
    "what diverges is cut off": Mutation(FollowedPartition, "cut", _keeps_what_it_has),
    "the high watermark is what all in sync have": Mutation(Leading, "high_watermark", _counts_only_itself),
    "nothing is committed by too few (KIP-966)": Mutation(Leading, "high_watermark", _counts_without_enough, 21),
    "leader epochs are compared (KIP-320)": Mutation(Partition, "check_served_by", _any_epoch, story="late_fetch"),
    "the controller compares partition epochs (KIP-497)": Mutation(
        alter_partition, "_plan", _decides_without_epoch, story="kip_497"
    ),
    "the controller compares what AlterPartition says": Mutation(alter_partition, "_error", _everybody_may, 9),
    "a crash may have lost records (KIP-966)": Mutation(ReplicationControl, "lost", _crash_is_a_stop, 5),
    "a leader comes from the ISR": Mutation(partition_changes, "_elect", _anybody_leads, 4),
    "who left a small ISR may lead (KIP-966)": Mutation(partition_changes, "_eligible", _no_list_of_eligible, 5),
    "what a log has at the start is not committed": Mutation(LogManager, "open", _all_is_committed, 17),
    "only a leader begins an epoch": Mutation(Partition, "_take_role", _follower_notes_the_epoch),
    "a wait ends with the leadership": Mutation(Leadership, "end", _waits_go_on),
    "acks=all waits for the high watermark": Mutation(Partition, "committed", _committed_at_once),
    "a replica that is cut has not taken the high watermark": Mutation(answer, "_to_send", _told_while_cutting, 22),
    "a session whose answer is lost begins anew": Mutation(ReplicaFetcher, "_forget_session", _session_stays, 7),
    "a leader that does not answer is asked again": Mutation(ReplicaFetcher, "_rest", _never_again),
    "who lags leaves the ISR": Mutation(Leading, "shrinking", _nobody_lags, story="lost_proposal"),
    "a proposal whose answer is lost goes again": Mutation(Altering, "failed", _lost_proposals, story="lost_proposal"),
    "followers' fetches are noted": Mutation(Attempt, "_read_for_replica", _from_a_replica_without_role),
    "the high watermark never goes back": Mutation(LogState, "commit_to", _goes_back, 1),
    "a high watermark of the epoch before says too little (KIP-207)": Mutation(
        Leadership, "knows_high_watermark", True, 1
    ),
    "one AlterPartition is under way": Mutation(Altering, "next_request", _one_behind_the_other, 1),
    "an answer to what is proposed no more is ignored": Mutation(Isr, "granted", _takes_any_answer, 63),
    "what is proposed stays so in the epoch that is known": Mutation(Isr, "published", _drops_what_is_proposed, 538),
    "nobody is eligible beside a large ISR (KIP-966)": Mutation(partition_changes, "_eligible", _eligible_for_ever),
    "the controller lets nobody join who is fenced or has started anew (KIP-903)": Mutation(
        alter_partition, "_may_join", _anybody_joins, story="kip_903"
    ),
    "who is fenced leaves the ISR": Mutation(ReplicationControl, "without", _stays_in_sync, 16),
    "an epoch without a record is cut off": Mutation(LeaderEpochs, "truncate_end", _everybody_may, 8),
}
