"""Keeps the copy of the metadata log up to date: sends what the observer decides, and carries out what it makes of the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from pykbroker.metadata.answers import Answers
from pykbroker.metadata.ids import CLUSTER_METADATA_ID
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.metadata.replay import ReplayError
from pykbroker.metadata.snapshot import SnapshotId
from pykbroker.quorum.observer import (
    Address,
    FetchAsk,
    FetchedLog,
    FetchedPiece,
    Observer,
    ObserverDecision,
    ObserverStep,
    QuorumAnswer,
    SnapshotAsk,
)
from pykbroker.runtime.slices import WEIGHT_OF_A_TURN
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.messages import fetch_snapshot as snapshots
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ReplicaState
from pykbroker.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.metadata.source import Readying, Subscriber
    from pykbroker.quorum.metadata_replica import MetadataReplica
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps
    from pykbroker.wire.message import Message

log = logging.getLogger(__name__)

R = TypeVar("R", bound="Message")

#: Since version 17 a replica is known by its directory, too (KIP-853).
_LOWEST_FETCH = 17
#: How long the leader waits for something new (KafkaRaftClient.MAX_FETCH_WAIT_MS).
_WAIT_MS = 500
#: After so many answers in a row that came within so many milliseconds and had nothing new, each is followed by a rest: a leader that does not
#: wait would have this broker do nothing else.
_MOST_IDLE = 10
_IDLE_MS = 50


class Nodes(Protocol):
    """The way to other nodes."""

    def ask(
        self, address: Address, request: Message, response: type[R], limit_ms: float, lowest: int = 0, /
    ) -> Deferred[R]:
        """The answer of a node, in the highest version that both know, which is at least ``lowest``. Fails with KafkaError
        NETWORK_EXCEPTION if it does not answer within ``limit_ms``, UNSUPPORTED_VERSION if it knows none of these versions.
        """
        ...


class QuorumSettings(Protocol):
    """The settings of a broker, by name."""

    def __getitem__(self, name: str, /) -> Any: ...


class Identity(NamedTuple):
    """Who this node is for the controllers: ``directory_id`` is that of the directory with the metadata log."""

    node_id: int
    cluster_id: str
    directory_id: bytes


class MetadataObserver:
    """``start`` it once ``copy`` is loaded. ``config`` has broker settings; ``failed`` is told with a sentence why it ended by itself,
    after which the image stays as it is, and ``leads`` where each controller listens that is found to lead.
    """

    def __init__(
        self,
        identity: Identity,
        observer: Observer,
        copy: MetadataReplica,
        nodes: Nodes,
        runtime: Runtime,
        config: QuorumSettings,
        failed: Callable[[str], None],
        *,
        static_voters: Sequence[int] | None = None,
        leads: Callable[[Address], None] | None = None,
    ) -> None:
        self.observer = observer
        #: See ``MetadataSource``.
        self.answers = Answers()
        self._identity = identity
        self._copy = copy
        self._nodes = nodes
        self._runtime = runtime
        self._limit_ms = config["controller.quorum.request.timeout.ms"]
        self._backoff_ms = config["controller.quorum.retry.backoff.ms"]
        self._fetch_bytes = config["controller.quorum.fetch.max.bytes"]
        self._snapshot_bytes = config["controller.quorum.fetch.snapshot.max.bytes"]
        self._failed = failed
        self._static_voters = static_voters
        self._subscribers: list[Subscriber] = []
        self._leads = leads
        #: What has come of a snapshot.
        self._pieces = bytearray()
        #: The leader that ``quorum-state`` names.
        self._noted = (observer.leader_id, observer.epoch)
        #: When the log was asked for, and how many answers before it came at once and had nothing new.
        self._sent = 0.0
        self._idle = 0
        #: Of which nodes it was logged that they cannot be asked.
        self._complained: set[Address] = set()
        self._ended = False

    @property
    def offset(self) -> int:
        """The offset of the last record that the image has."""
        return self._copy.image.offset

    @property
    def start_offset(self) -> int:
        """The offset of the first record in the copy of the log."""
        return self._copy.start_offset

    def read_log(self, offset: int, max_bytes: int, upper_offset: int) -> Deferred[bytes]:
        """What the image has of the log, see ``ControllerPort``."""

        def read() -> Deferred[bytes]:
            plan = self._copy.plan_read(offset, max_bytes, min(upper_offset, self.offset + 1))
            return Deferred.completed(b"") if plan is None else self._runtime.offload_read(plan.read).map(bytes)

        return attempt(read)

    @property
    def image(self) -> MetadataImage:
        """See ``MetadataSource``."""
        return self._copy.image

    def subscribe(self, subscriber: Subscriber, readying: Readying | None = None) -> Callable[[], None]:
        """See ``MetadataSource``; what is seen is applied already, so nobody is asked to make ready."""
        del readying
        self._subscribers.append(subscriber)
        return partial(self._subscribers.remove, subscriber)

    def start(self) -> None:
        """Begin to fetch."""
        self._ask()

    def end(self) -> None:
        """Fetch nothing any more; an answer under way is ignored."""
        self._ended = True

    # -- asking -------------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        ask = self.observer.ask
        if self._ended or ask is None:
            return
        self._sent = self._runtime.clock.monotonic()
        if isinstance(ask, FetchAsk):
            answer = attempt(
                self._nodes.ask, ask.address, self._fetch(ask), FetchResponse, self._limit_ms, _LOWEST_FETCH
            )
            answer.fold(partial(self._answered, ask, self._fetched)).or_log("fetching the metadata log")
        else:
            piece = attempt(self._nodes.ask, ask.address, self._piece(ask), FetchSnapshotResponse, self._limit_ms)
            piece.fold(partial(self._answered, ask, self._fetched_piece)).or_log("fetching a metadata snapshot")

    def _fetch(self, ask: FetchAsk) -> FetchRequest:
        partition = FetchPartition(
            current_leader_epoch=ask.leader_epoch,
            fetch_offset=ask.offset,
            last_fetched_epoch=ask.last_fetched_epoch,
            log_start_offset=self._copy.start_offset,
            partition_max_bytes=self._fetch_bytes,
            replica_directory_id=self._identity.directory_id,
            high_watermark=ask.high_watermark,
        )
        return FetchRequest(
            cluster_id=self._identity.cluster_id,
            replica_state=ReplicaState(self._identity.node_id, -1),
            max_wait_ms=_WAIT_MS,
            max_bytes=self._fetch_bytes,
            topics=[FetchTopic(topic_id=CLUSTER_METADATA_ID, partitions=[partition])],
        )

    def _piece(self, ask: SnapshotAsk) -> FetchSnapshotRequest:
        partition = snapshots.FetchSnapshotRequestPartitionSnapshot(
            partition=0,
            current_leader_epoch=ask.leader_epoch,
            snapshot_id=snapshots.FetchSnapshotRequestSnapshotId(*ask.snapshot),
            position=ask.position,
            replica_directory_id=self._identity.directory_id,
        )
        return FetchSnapshotRequest(
            cluster_id=self._identity.cluster_id,
            replica_id=self._identity.node_id,
            max_bytes=self._snapshot_bytes,
            topics=[snapshots.FetchSnapshotRequestTopicSnapshot(CLUSTER_METADATA, [partition])],
        )

    def _answered(self, ask: FetchAsk | SnapshotAsk, then: Callable[[Any, Any], None], done: Deferred[Any]) -> None:
        if self._ended:
            return
        if done.error is not None:
            self._fail(ask.address, str(done.error))
        else:
            then(ask, done.value)

    def _fail(self, address: Address, why: str) -> None:
        """Ask others."""
        self._complain(address, why)
        self.observer.failed()
        self._rest()

    def _complain(self, address: Address, why: str) -> None:
        """What is wrong with a node is logged once, until the leader is followed again."""
        if address not in self._complained:
            self._complained.add(address)
            log.warning("The metadata log cannot be fetched from %s: %s", address, why)

    def _rest(self) -> None:
        self._runtime.client_timers.after(self._backoff_ms, self._ask)

    # -- answers ------------------------------------------------------------------------------------------------------

    def _fetched(self, ask: FetchAsk, response: FetchResponse) -> None:
        data = response.responses[0].partitions[0] if response.responses and response.responses[0].partitions else None
        content = FetchedLog()
        answer = QuorumAnswer(response.error_code or ErrorCode.UNKNOWN_SERVER_ERROR)
        if data is not None and not response.error_code:
            leader, diverging, snapshot = data.current_leader, data.diverging_epoch, data.snapshot_id
            answer = _answer(data.error_code, leader, response.node_endpoints)
            content = FetchedLog(
                None
                if diverging is None or diverging.epoch == diverging.end_offset == -1
                else (diverging.epoch, diverging.end_offset),
                None if snapshot is None or snapshot.epoch < 0 else SnapshotId(snapshot.end_offset, snapshot.epoch),
            )
        decision = self.observer.fetched(answer, content)
        if decision.step is ObserverStep.APPEND and data is not None:
            self._complained.clear()
            self._take_note(partial(self._append, ask, data.records, data.high_watermark))
        else:
            self._take_note(partial(self._carry_out, ask, decision))

    def _append(self, ask: FetchAsk, records: Any, leader_mark: int) -> None:
        copy, observer = self._copy, self.observer
        before = observer.high_watermark
        try:
            if records:
                whole = b"".join(map(bytes, records)) if isinstance(records, list) else records
                copy.append(whole, observer.epoch, self._runtime.clock.now_ms())
                if copy.end_offset == ask.offset:
                    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "no batch of it is whole")
        except (KafkaError, WireError) as error:
            if isinstance(error, KafkaError) and error.code is ErrorCode.KAFKA_STORAGE_ERROR:
                self._end(f"The metadata log cannot be written: {error.message}")
            else:
                self._fail(ask.address, f"what it sent cannot be appended: {error}")
            return
        high_watermark = observer.committed(leader_mark)
        waited = self._runtime.clock.monotonic() - self._sent >= _IDLE_MS / 1000
        has_news = (copy.end_offset, high_watermark) != (ask.offset, before)
        self._idle = 0 if has_news or waited else self._idle + 1
        self._runtime.slices.begin(self._apply(high_watermark))

    def _apply(self, high_watermark: int) -> Steps:
        """Bring the image to the high watermark, each step to the end of a batch or some records nearer to it, then ask for more."""
        copy = self._copy
        while not self._ended:
            before = copy.image.offset
            try:
                delta, count = yield from copy.apply(high_watermark)
            except Exception as error:  # a record of impossible form may fail in any way
                after, known = copy.image.offset, isinstance(error, (ReplayError, WireError))
                if not known:
                    log.exception("A record of the metadata log after offset %d cannot be replayed", after)
                why = error if known else repr(error)
                self._end(f"The metadata log has what this broker does not understand after offset {after}: {why}.")
                return
            if (copy.image.offset != before or copy.is_amid_batch) and not self._ended:
                self._tell(delta)
            if not count:
                if self._idle > _MOST_IDLE:
                    self._rest()
                else:
                    self._ask()
                return
            yield WEIGHT_OF_A_TURN if copy.is_amid_batch else count

    def _fetched_piece(self, ask: SnapshotAsk, response: FetchSnapshotResponse) -> None:
        found = response.topics[0].partitions[0] if response.topics and response.topics[0].partitions else None
        answer = QuorumAnswer(response.error_code or ErrorCode.UNKNOWN_SERVER_ERROR)
        piece, data = FetchedPiece(0, 0, 0), b""
        if found is not None and not response.error_code:
            data = bytes(found.unaligned_records or b"")  # type: ignore[arg-type]  # records of an answer are bytes
            answer = _answer(found.error_code, found.current_leader, response.node_endpoints)
            piece = FetchedPiece(found.size, found.position, len(data))
        if not ask.position:
            self._pieces.clear()
        decision = self.observer.fetched_piece(answer, piece)
        if decision.step in (ObserverStep.KEEP, ObserverStep.INSTALL):
            self._pieces += data
        self._take_note(partial(self._carry_out, ask, decision))

    def _carry_out(self, ask: FetchAsk | SnapshotAsk, decision: ObserverDecision) -> None:
        step = decision.step
        if step is ObserverStep.TRUNCATE:
            log.info("The metadata log is truncated to offset %d, where it and its leader's part", decision.offset)
            cut = self._runtime.offload(self._copy.truncate, decision.offset)
            cut.fold(self._was_cut).or_log("truncating the metadata log")
        elif step is ObserverStep.INSTALL:
            assert isinstance(ask, SnapshotAsk)
            data = bytes(self._pieces)
            self._pieces.clear()
            log.info("A metadata snapshot up to offset %d takes the place of the log", decision.offset)
            written = self._runtime.offload(self._copy.write_snapshot, ask.snapshot, data)
            written.fold(partial(self._was_written, ask.snapshot)).or_log("taking a metadata snapshot")
        elif step is ObserverStep.END:
            self._end(f"The metadata log cannot be followed at {ask.address}: {decision.reason}.")
        elif step is ObserverStep.BACK_OFF:
            if decision.reason:
                self._complain(ask.address, decision.reason)
            self._rest()
        else:
            self._ask()

    def _was_cut(self, done: Deferred[None]) -> None:
        if self._is_changed(done):
            self.observer.changed()
            self._ask()

    def _was_written(self, snapshot: SnapshotId, done: Deferred[MetadataImage]) -> None:
        if self._is_changed(done):
            delta = self._copy.install(snapshot, done.value)
            self.observer.changed()
            self._tell(delta)
            self._ask()

    def _is_changed(self, done: Deferred[Any]) -> bool:
        """Whether the change of the log succeeded, and this node still follows it."""
        if done.error is not None and not self._ended:
            self._end(f"The metadata log cannot be changed: {done.error}.")
        return not self._ended

    def _tell(self, delta: MetadataDelta) -> None:
        self.answers.forget()
        for subscriber in list(self._subscribers):
            try:
                subscriber(self._copy.image, delta)
            except Exception:  # the others go on, and the log is followed, as in Apache Kafka
                log.exception("What the metadata log says up to offset %d is not carried out whole", self.offset)

    def _take_note(self, then: Callable[[], None]) -> None:
        """Write ``quorum-state`` first, if the answer has named another leader or epoch."""
        known = self.observer.leader_id, self.observer.epoch
        if known == self._noted:
            then()
            return
        self._noted = known
        if known[0] >= 0:
            log.info("Node %d leads the controllers in epoch %d", *known)
        if self.observer.leader is not None and self._leads is not None:
            self._leads(self.observer.leader)
        noted = self._runtime.offload(self._copy.note_leader, *known, self._static_voters)
        noted.fold(partial(self._was_noted, then)).or_log("noting the leader of the controllers")

    def _was_noted(self, then: Callable[[], None], done: Deferred[None]) -> None:
        if done.error is not None:
            self._end(f"The state of the quorum cannot be written: {done.error}.")
        elif not self._ended:
            then()

    def _end(self, sentence: str) -> None:
        self._ended = True
        self._failed(sentence)


def _answer(error: int, leader: Any, endpoints: Sequence[Any]) -> QuorumAnswer:
    """What both kinds of answers say of the leader, in classes of their own."""
    addresses = {each.node_id: Address(each.host, each.port) for each in endpoints}
    if leader is None:
        return QuorumAnswer(error, endpoints=addresses)
    return QuorumAnswer(error, leader.leader_id, leader.leader_epoch, addresses)
