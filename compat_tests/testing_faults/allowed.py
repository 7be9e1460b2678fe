"""What Apache Kafka may answer in a state: each error with the states in which it may come, and what must be so where there is none.

The states are read from the brokers' metadata, logs and coordinators, not from the handlers, which decide by them, too. That Apache Kafka
gives each of these answers is seen by the oracle's questions (``test_every_answer.py``), or, where one broker alone cannot come into the state, by
the tests of SEEN_BY_TESTS; READ_IN_CODE has the few that were not provoked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.coordination.placement import partition_for
from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.wire.batch_header import iter_batches, read_batch_header
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext

OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
NONE: Final = "NONE"


class Led(NamedTuple):
    """A partition as a broker sees it."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    in_sync: int
    #: Of its own copy, if it has one: where it begins and ends, and up to where it may be read.
    start: int = 0
    high_watermark: int = -1
    stable: int = -1
    end: int = -1
    #: The last epoch and sequence of each producer.
    producers: dict[int, tuple[int, int]] = {}  # noqa: RUF012 - never altered


class Member(NamedTuple):
    """A member of a group."""

    epoch: int
    state: str


class Look:
    """The state of a broker, as far as a request is about it. ``brokers`` are all that run: a leader asks the coordinator of a
    transaction. ``named`` are the partitions that are asked for, since a handler may take what it refuses out of a request.
    """

    def __init__(
        self, broker: Broker, ctx: RequestContext, request: Any, brokers: list[Broker], named: set[tuple[str, int]]
    ) -> None:
        self.node_id = broker.node_id
        self.now = broker.runtime.clock.monotonic()
        image = broker.metadata.image
        self.alive = {each.id for each in image.brokers.values() if not each.fenced}
        self.topics = {name: topic.id for name, topic in image.topics.items()}
        #: Every leader that a partition has at present.
        self.led = {
            (name, index, each.leader, each.leader_epoch)
            for name, topic in image.topics.items()
            for index, each in topic.partitions.items()
        }
        if ctx.as_of is not None:
            self.topics = {name: topic.id for name, topic in ctx.as_of.topics.items()}
        self._broker = broker
        self.partitions: dict[tuple[str, int], Led] = {
            each: found for each in named if (found := self._partition(*each)) is not None
        }
        group_id = getattr(request, "group_id", None)
        self.group, self.members = self._group(group_id)
        offsets = group_id and image.topics.get(OFFSETS)
        at = offsets and offsets.partitions[partition_for(group_id, len(offsets.partitions))]
        #: Whether what the group's coordinator writes is refused by its partition, or waits for replicas.
        self.group_lacks_replicas = bool(at and len(at.isr) < len(at.replicas))
        name = getattr(request, "transactional_id", None) or getattr(request, "v3_and_below_transactional_id", None)
        self.transaction = self._transaction(name)
        #: The same, at whichever broker coordinates it.
        self.coordinated = self.transaction
        if self.transaction == "elsewhere":
            leader = self.coordinates(STATE, name)
            there = next((each for each in brokers if each.node_id == leader), None)
            self.coordinated = "elsewhere" if there is None else self._transaction(name, there)

    def _partition(self, topic: str, index: int) -> Led | None:
        broker = self._broker
        image = broker.metadata.image.topics.get(topic)
        if image is None or (at := image.partitions.get(index)) is None:
            return None
        led = Led(at.leader, at.leader_epoch, tuple(at.replicas), len(at.isr))
        here = broker.partition(topic, index)
        if here is None or here.opened_log is None:
            return led
        log = here.log
        producers = {number: (each.epoch, each.last_sequence) for number, each in log.producers.entries.items()}
        return led._replace(start=here.log_start_offset, high_watermark=here.high_watermark, stable=here.last_stable_offset,
                            end=here.log_end_offset, producers=producers)  # fmt: skip

    def coordinates(self, topic: str, key: str) -> int:
        """The leader of the partition that a group or transactional id belongs to; -1 for none."""
        image = self._broker.metadata.image.topics.get(topic)
        return -1 if image is None else image.partitions[partition_for(key, len(image.partitions))].leader

    def _shard(self, coordinator: Any, topic: str, key: str) -> Any:
        image = self._broker.metadata.image.topics.get(topic)
        loaded = image and coordinator.shards.loaded.get(partition_for(key, len(image.partitions)))
        return loaded and loaded.shard

    def _group(self, key: str | None) -> tuple[str, dict[str, Member]]:
        """Whether the group is ``elsewhere``, ``loading``, or its state; and its members."""
        if not key:
            return "", {}
        if self.coordinates(OFFSETS, key) != self.node_id:
            return "elsewhere", {}
        shard = self._shard(self._broker.groups, OFFSETS, key)
        if shard is None:
            return "loading", {}
        group = shard.groups.get(key)
        if group is None:
            return "none", {}
        state = group.state.value
        members = {
            each.member_id: Member(getattr(each, "epoch", getattr(group, "generation", -1)), state)
            for each in group.members.values()
        }
        return state, members

    def _transaction(self, key: str | None, at: Broker | None = None) -> Any:
        """``elsewhere``, ``loading``, the value of the transactional id, or None for an unknown one."""
        broker = at or self._broker
        if not key:
            return None
        if self.coordinates(STATE, key) != broker.node_id:
            return "elsewhere"
        shard = self._shard(broker.transactions, STATE, key)
        return "loading" if shard is None else shard.transactions.get(key)


class Handled(NamedTuple):
    """A request that was handled."""

    api: str
    request: Any
    answer: Any
    before: Look
    after: Look
    led: frozenset[tuple[str, int, int, int]]

    @property
    def looks(self) -> tuple[Look, Look]:
        """When it began, and when it was answered."""
        return self.before, self.after


class PartAnswer(NamedTuple):
    """One thing that was asked, and what was answered to it; a topic of None for what is of the whole request."""

    topic: str | None
    index: int
    error: str
    item: Any
    answer: Any


# ---- what is asked and answered


def _partitions(message: Any) -> Iterator[tuple[str, int, Any]]:
    for holder in ("topic_data", "topics", "responses", "v3_and_below_topics", "results_by_topic_v3_and_below"):
        for topic in getattr(message, holder, None) or ():
            name = next(
                (getattr(topic, each) for each in ("name", "topic", "topic_name") if hasattr(topic, each)), None
            )
            for held in (
                "partition_data",
                "partition_responses",
                "partitions",
                "partition_indexes",
                "results_by_partition",
            ):
                for each in getattr(topic, held, None) or ():
                    index = each if isinstance(each, int) else next(
                        getattr(each, at) for at in ("index", "partition_index", "partition") if hasattr(each, at))  # fmt: skip
                    yield name or "", index, each


def places(request: Any) -> set[tuple[str, int]]:
    """The partitions that a request names."""
    return {(topic, index) for topic, index, _ in _partitions(request)}


def answers(request: Any, answer: Any) -> Iterator[PartAnswer]:
    """Each thing that was asked, with its answer."""
    if isinstance(answer, KafkaError):
        yield PartAnswer(None, -1, ErrorCode(answer.code).name, None, None)
        return
    whole = getattr(answer, "error_code", 0)
    of_parts = list(_partitions(answer))
    if whole or not of_parts:
        yield PartAnswer(None, -1, ErrorCode(whole).name, None, answer)
        return
    part = {(topic, index): each for topic, index, each in _partitions(request)}
    for topic, index, each in of_parts:
        code = getattr(each, "error_code", getattr(each, "partition_error_code", 0))
        yield PartAnswer(topic, index, ErrorCode(code).name, part.get((topic, index)), each)


def judge(handled: Handled) -> Iterator[tuple[str, str]]:
    """Each error that was answered, and what is wrong with it: nothing if it is allowed."""
    for part in answers(handled.request, handled.answer):
        rule = RULES.get((handled.api, part.error))
        if rule is None:
            yield part.error, "Apache Kafka was not seen to answer this"
        else:
            yield part.error, "" if rule(handled, part) else f"not in this state: {_state(handled, part)}"


def _state(handled: Handled, part: PartAnswer) -> str:
    return "; ".join(
        f"{look.node_id}: {look.partitions.get((part.topic or '', part.index))} {look.group} {look.members} {look.coordinated}"
        for look in handled.looks
    )


# ---- rules: whether an answer is allowed

Rule = Callable[[Handled, PartAnswer], bool]


def _at_some_time(holds: Callable[[Look, Handled, PartAnswer], bool]) -> Rule:
    """That something is so when the request begins, or when it is answered."""
    return lambda handled, part: any(holds(look, handled, part) for look in handled.looks)


def _of_partition(holds: Callable[[Led, Handled, PartAnswer, Look], bool], *, without: bool = False) -> Rule:
    """That something is so of the partition; ``without`` is for where there is none."""

    def rule(look: Look, handled: Handled, part: PartAnswer) -> bool:
        led = look.partitions.get((part.topic or "", part.index))
        return without if led is None else holds(led, handled, part, look)

    return _at_some_time(rule)


NO_LEADER = _of_partition(lambda led, _, __, look: led.leader not in look.alive, without=True)
NO_SUCH_PARTITION = _of_partition(lambda *_: False, without=True)
LED_ELSEWHERE = _of_partition(lambda led, _, __, look: led.leader != look.node_id)
LED_HERE = _of_partition(lambda led, _, __, look: led.leader == look.node_id)


def _epoch(part: PartAnswer) -> int:
    epoch: int = getattr(part.item, "current_leader_epoch", -1)
    return epoch


OLDER_EPOCH = _of_partition(lambda led, _, part, __: 0 <= _epoch(part) < led.epoch)
NEWER_EPOCH = _of_partition(lambda led, _, part, __: _epoch(part) > led.epoch)
OUTSIDE = _of_partition(
    lambda led, _, part, __: (
        not led.start <= part.item.fetch_offset <= led.end or part.item.fetch_offset > led.high_watermark
    )
)
NOT_ALL_COMMITTED = _of_partition(lambda led, *_: led.high_watermark < led.end)
FEW_IN_SYNC = _of_partition(lambda led, *_: led.in_sync < len(led.replicas))


def _waited(handled: Handled, _: PartAnswer) -> bool:
    return (handled.after.now - handled.before.now) * 1000 >= handled.request.timeout_ms - 1


def _fetched(handled: Handled, part: PartAnswer) -> bool:
    """Records from the offset on, without a gap to it, and none that may not be read yet."""
    pieces = part.answer.records or b""
    records = b"".join(map(bytes, pieces)) if isinstance(pieces, list) else bytes(pieces)
    batches = [header for _, header in iter_batches(records)]
    led = handled.after.partitions.get((part.topic or "", part.index))
    before = handled.before.partitions.get((part.topic or "", part.index))
    if led is None or before is None:
        return not batches
    upper = led.stable if handled.request.isolation_level else led.high_watermark
    follows = all(one.last_offset < other.base_offset for one, other in pairwise(batches))
    begins = (
        not batches or batches[0].base_offset <= part.item.fetch_offset <= batches[0].last_offset or before.start > 0
    )
    whole = all(header.base_offset < upper for header in batches)
    serves = handled.after.node_id in led.replicas or handled.before.node_id in before.replicas
    return serves and follows and begins and whole and part.answer.high_watermark <= led.high_watermark


def _sequence(holds: Callable[[tuple[int, int], Any], bool]) -> Rule:
    """That something is so of a producer's last epoch and sequence in a partition, and the batch that it sends."""

    def rule(led: Led, _: Handled, part: PartAnswer, __: Look) -> bool:
        header = read_batch_header(part.item.records)
        last = led.producers.get(header.producer_id)
        return last is not None and holds(last, header)

    return _of_partition(rule)


OUT_OF_ORDER = _sequence(
    lambda last, batch: (
        batch.base_sequence != last[1] + 1 if batch.producer_epoch == last[0] else batch.base_sequence != 0
    )
)
OLDER_PRODUCER = _sequence(lambda last, batch: batch.producer_epoch < last[0])


def _of_a_transaction(holds: Callable[[Any, Handled, PartAnswer], bool]) -> Rule:
    """That the batch is of a transaction, and something is so of its value at its coordinator."""

    def rule(look: Look, handled: Handled, part: PartAnswer) -> bool:
        return bool(read_batch_header(part.item.records).attributes & 16) and holds(look.coordinated, handled, part)

    return _at_some_time(rule)


def _is_unknown(value: Any) -> bool:
    return value is None or isinstance(value, str)


NOT_IN_TRANSACTION = _of_a_transaction(
    lambda value, _, part: (
        _is_unknown(value)
        or value.state is not TransactionState.ONGOING
        or (part.topic, part.index) not in value.partitions
    )
)
FENCED_BY_COORDINATOR = _of_a_transaction(
    lambda value, _, part: (
        _is_unknown(value) or value.producer_epoch != read_batch_header(part.item.records).producer_epoch
    )
)
NOT_VERIFIED = _of_a_transaction(
    lambda value, *_: isinstance(value, str) or value is None or value.state is not TransactionState.ONGOING
)
OFFSETS_FENCED = _at_some_time(
    lambda look, handled, _: (
        _is_unknown(look.coordinated) or look.coordinated.producer_epoch != handled.request.producer_epoch
    )
)
OFFSETS_NOT_ADDED = _at_some_time(
    lambda look, *_: (
        _is_unknown(look.coordinated)
        or look.coordinated.state is not TransactionState.ONGOING
        or all(topic != OFFSETS for topic, _ in look.coordinated.partitions)
    )
)


def _any_of(*rules: Rule) -> Rule:
    return lambda handled, part: any(rule(handled, part) for rule in rules)


def _appended(handled: Handled, part: PartAnswer) -> bool:
    """The leader has the record, and all in sync have."""
    led = handled.after.partitions.get((part.topic or "", part.index))
    was = handled.before.partitions.get((part.topic or "", part.index))
    return (
        was is not None
        and was.leader == handled.before.node_id
        and led is not None
        and 0 <= part.answer.base_offset < led.high_watermark
    )


# groups


def _group_is(*states: str) -> Rule:
    return _at_some_time(lambda look, *_: look.group in states)


def _member(handled: Handled) -> str:
    if (members := getattr(handled.request, "members", None)) is not None:
        return members[0].member_id if members else ""
    return getattr(handled.request, "member_id", "")


def _member_epoch(handled: Handled) -> int:
    names = ("generation_id_or_member_epoch", "generation_id", "member_epoch")
    return next((getattr(handled.request, each) for each in names if hasattr(handled.request, each)), -1)


NO_SUCH_MEMBER = _at_some_time(lambda look, handled, _: _member(handled) not in look.members)
OTHER_EPOCH = _at_some_time(
    lambda look, handled, _: (
        (member := look.members.get(_member(handled))) is None or member.epoch != _member_epoch(handled)
    )
)
REBALANCING = _group_is("PreparingRebalance", "CompletingRebalance")


def _is_member(handled: Handled, part: PartAnswer) -> bool:
    """Who is answered that all is well is a member, of this generation or epoch, or was when it part."""
    if _member_epoch(handled) <= 0 or not _member(handled):
        return handled.after.group not in ("elsewhere", "loading") or handled.before.group not in (
            "elsewhere",
            "loading",
        )
    return any(
        (member := look.members.get(_member(handled))) is not None and member.epoch >= _member_epoch(handled)
        for look in handled.looks
    )


# coordinators and transactions


def _kind(handled: Handled) -> str:
    return STATE if handled.request.key_type else OFFSETS


NOWHERE = _at_some_time(
    lambda look, handled, _: look.coordinates(_kind(handled), handled.request.key) not in look.alive
)


def _coordinator_named(handled: Handled, part: PartAnswer) -> bool:
    """A broker that leads the partition, or has led it."""
    return any(topic == _kind(handled) and leader == part.answer.node_id for topic, _, leader, _ in handled.led)


def _of_transaction(holds: Callable[[Any, Handled], bool]) -> Rule:
    def rule(look: Look, handled: Handled, _: PartAnswer) -> bool:
        return (
            look.transaction is not None and not isinstance(look.transaction, str) and holds(look.transaction, handled)
        )

    return _at_some_time(rule)


def _producer_epoch(handled: Handled) -> int:
    request = handled.request
    epoch: int = getattr(request, "producer_epoch", None) or getattr(request, "v3_and_below_producer_epoch", 0)
    return epoch


TRANSACTION_ELSEWHERE = _at_some_time(lambda look, *_: look.transaction == "elsewhere")
TRANSACTION_LOADING = _at_some_time(lambda look, *_: look.transaction == "loading")
UNKNOWN_PRODUCER = _at_some_time(
    lambda look, handled, _: (
        look.transaction is None or getattr(look.transaction, "producer_id", -1) != _producer_id(handled)
    )
)
OTHER_PRODUCER_EPOCH = _of_transaction(lambda value, handled: value.producer_epoch != _producer_epoch(handled))
ENDING = _of_transaction(
    lambda value, _: (
        value.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT, TransactionState.ONGOING)
    )
)
NOT_OPEN = _of_transaction(lambda value, _: value.state is not TransactionState.ONGOING)


def _producer_id(handled: Handled) -> int:
    request = handled.request
    number: int = getattr(request, "producer_id", None) or getattr(request, "v3_and_below_producer_id", -1)
    return number


def _ended(handled: Handled, _: PartAnswer) -> bool:
    """As it was part to, or it had ended so before."""
    ends = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT
    if not handled.request.committed:
        ends = TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT
    value = handled.after.transaction
    return isinstance(value, str) or value.state in ends or value.producer_epoch != _producer_epoch(handled)


def _added(handled: Handled, _: PartAnswer) -> bool:
    """It was added to a transaction of this producer and epoch."""
    return any(
        not isinstance(value, str) and value is not None and value.producer_epoch >= _producer_epoch(handled)
        for value in (handled.before.transaction, handled.after.transaction)
    )


def _led_once(handled: Handled, part: PartAnswer) -> bool:
    """A leader that the partition has or had, with the epoch of it: metadata may be old. Or no such topic."""
    if part.topic is None:
        return all(
            topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            and any(topic.name not in look.topics for look in handled.looks)
            for topic in part.answer.topics
        )
    return (part.topic, part.index, part.answer.leader_id, part.answer.leader_epoch) in handled.led


ALWAYS: Rule = lambda *_: True  # noqa: E731 - a rule as the others

_NOT_HERE = {
    "NOT_COORDINATOR": _group_is("elsewhere"),
    "COORDINATOR_LOAD_IN_PROGRESS": _group_is("loading"),
    "COORDINATOR_NOT_AVAILABLE": _at_some_time(lambda look, *_: look.group_lacks_replicas),
}
_NOT_THERE = {"NOT_COORDINATOR": TRANSACTION_ELSEWHERE, "COORDINATOR_LOAD_IN_PROGRESS": TRANSACTION_LOADING}
_NO_MEMBER = {
    "UNKNOWN_MEMBER_ID": NO_SUCH_MEMBER,
    "ILLEGAL_GENERATION": OTHER_EPOCH,
    "REBALANCE_IN_PROGRESS": REBALANCING,
}
_FENCED = {
    "PRODUCER_FENCED": OTHER_PRODUCER_EPOCH,
    "INVALID_PRODUCER_EPOCH": OTHER_PRODUCER_EPOCH,
    "INVALID_PRODUCER_ID_MAPPING": UNKNOWN_PRODUCER,
}
_READ = {
    "NOT_LEADER_OR_FOLLOWER": LED_ELSEWHERE,
    "FENCED_LEADER_EPOCH": OLDER_EPOCH,
    "UNKNOWN_LEADER_EPOCH": NEWER_EPOCH,
    "UNKNOWN_TOPIC_OR_PARTITION": NO_SUCH_PARTITION,
}
_OF_APIS: Final[dict[str, dict[str, Rule]]] = {
    "ApiVersions": {NONE: ALWAYS},
    "Metadata": {NONE: _led_once, "LEADER_NOT_AVAILABLE": NO_LEADER},
    "FindCoordinator": {NONE: _coordinator_named, "COORDINATOR_NOT_AVAILABLE": NOWHERE},
    "Produce": {
        NONE: _appended,
        "NOT_LEADER_OR_FOLLOWER": LED_ELSEWHERE,
        "UNKNOWN_TOPIC_OR_PARTITION": NO_SUCH_PARTITION,
        "OUT_OF_ORDER_SEQUENCE_NUMBER": OUT_OF_ORDER,
        "INVALID_PRODUCER_EPOCH": _any_of(OLDER_PRODUCER, FENCED_BY_COORDINATOR),
        "INVALID_TXN_STATE": NOT_IN_TRANSACTION,
        "NOT_ENOUGH_REPLICAS": _any_of(FEW_IN_SYNC, NOT_VERIFIED),
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": FEW_IN_SYNC,
        "REQUEST_TIMED_OUT": _waited,
    },
    "Fetch": {NONE: _fetched, "OFFSET_OUT_OF_RANGE": OUTSIDE, **_READ},
    "ListOffsets": {NONE: LED_HERE, "OFFSET_NOT_AVAILABLE": NOT_ALL_COMMITTED, **_READ},
    "InitProducerId": {NONE: ALWAYS, "CONCURRENT_TRANSACTIONS": ENDING, **_NOT_THERE},
    "AddPartitionsToTxn": {
        NONE: _added,
        "UNKNOWN_TOPIC_OR_PARTITION": NO_SUCH_PARTITION,
        "CONCURRENT_TRANSACTIONS": ENDING,
        **_NOT_THERE,
        **_FENCED,
    },
    "AddOffsetsToTxn": {NONE: _added, "CONCURRENT_TRANSACTIONS": ENDING, **_NOT_THERE, **_FENCED},
    "EndTxn": {NONE: _ended, "CONCURRENT_TRANSACTIONS": ENDING, "INVALID_TXN_STATE": NOT_OPEN, **_NOT_THERE, **_FENCED},
    "TxnOffsetCommit": {
        NONE: _is_member,
        "INVALID_PRODUCER_EPOCH": OFFSETS_FENCED,
        "INVALID_TXN_STATE": OFFSETS_NOT_ADDED,
        "UNKNOWN_TOPIC_OR_PARTITION": NO_SUCH_PARTITION,
        **_NOT_HERE,
        "COORDINATOR_NOT_AVAILABLE": _any_of(_NOT_HERE["COORDINATOR_NOT_AVAILABLE"], OFFSETS_NOT_ADDED),
    },
    "JoinGroup": {
        NONE: _is_member,
        "MEMBER_ID_REQUIRED": lambda handled, _: not _member(handled),
        "UNKNOWN_MEMBER_ID": NO_SUCH_MEMBER,
        **_NOT_HERE,
    },
    "SyncGroup": {NONE: _is_member, **_NOT_HERE, **_NO_MEMBER},
    "Heartbeat": {NONE: _is_member, **_NOT_HERE, **_NO_MEMBER},
    "LeaveGroup": {NONE: ALWAYS, "UNKNOWN_MEMBER_ID": NO_SUCH_MEMBER, **_NOT_HERE},
    "OffsetCommit": {
        NONE: _is_member,
        "UNKNOWN_TOPIC_OR_PARTITION": NO_SUCH_PARTITION,
        "STALE_MEMBER_EPOCH": OTHER_EPOCH,
        **_NOT_HERE,
        **_NO_MEMBER,
    },
    "OffsetFetch": {NONE: ALWAYS, **_NOT_HERE},
    "ConsumerGroupHeartbeat": {
        NONE: _is_member,
        "FENCED_MEMBER_EPOCH": OTHER_EPOCH,
        "UNKNOWN_MEMBER_ID": NO_SUCH_MEMBER,
        "GROUP_ID_NOT_FOUND": _group_is("none"),
        **_NOT_HERE,
    },
}
RULES: Final = {(api, error): rule for api, rules in _OF_APIS.items() for error, rule in rules.items()}

#: Where answers were seen from Apache Kafka that no question to one broker has: API or ``*``, error -> the test.
SEEN_BY_TESTS: Final = {
    ("Produce", "NOT_LEADER_OR_FOLLOWER"): "compat_tests/testing_faults/test_catalogue.py::leader_moved",
    ("Fetch", "NOT_LEADER_OR_FOLLOWER"): "compat_tests/testing_faults/test_catalogue.py::leader_moved",
    ("Fetch", "FENCED_LEADER_EPOCH"): "compat_tests/testing_faults/test_catalogue.py::leader_moved",
    ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"): "compat_tests/brokers/test_answers.py::test_list_offsets",
    ("ListOffsets", "FENCED_LEADER_EPOCH"): "compat_tests/brokers/test_answers.py::test_list_offsets",
    ("Produce", "REQUEST_TIMED_OUT"): "compat_tests/testing_faults/test_every_answer.py::waits_in_vain",
    ("Produce", "NOT_ENOUGH_REPLICAS"): "compat_tests/brokers/test_answers.py::test_produce_without_a_broker",
    ("Metadata", "LEADER_NOT_AVAILABLE"): "compat_tests/brokers/test_answers.py::test_metadata_without_a_broker",
    ("*", "NOT_COORDINATOR"): "compat_tests/testing_faults/test_catalogue.py::coordinator_moved",
    ("*", "COORDINATOR_LOAD_IN_PROGRESS"): "compat_tests/testing_faults/test_catalogue.py::coordinator_moved",
}
#: What was read in Apache Kafka's code, and not provoked: where replicas are missing or late, or markers on their way.
READ_IN_CODE: Final = {
    ("AddPartitionsToTxn", "CONCURRENT_TRANSACTIONS"): "TransactionCoordinator.handleAddPartitionsToTransaction",
    ("AddOffsetsToTxn", "CONCURRENT_TRANSACTIONS"): "TransactionCoordinator.handleAddPartitionsToTransaction",
    ("EndTxn", "CONCURRENT_TRANSACTIONS"): "TransactionCoordinator.endTransaction",
    ("ListOffsets", "OFFSET_NOT_AVAILABLE"): "Partition.fetchOffsetForTimestamp",
    ("Produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"): "Partition.checkEnoughReplicasReachOffset",
    ("*", "COORDINATOR_NOT_AVAILABLE"): "GroupCoordinatorService.handleOperationException",
}
