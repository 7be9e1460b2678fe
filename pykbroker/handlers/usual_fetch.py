"""Fetch in its usual form, from the bytes of the request to those of the answer without the messages between them.

That is what consumers send all day: from version 11 on, outside of a session or within one, of partitions that this broker leads, for
records that are in memory. Anything else, malformed bytes too, is left to ``fetch.py``: before the session is touched, or, where only the
logs can tell, with what was requested. A fetch that finds too little waits as ``fetch.py`` has it wait. No rule is here: the log says
what may be read, the session what is answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import LARGE
from pykbroker.handlers.fetch import AT_ONCE, Fetch
from pykbroker.handlers.fetching import attempt
from pykbroker.handlers.fetching.context import READ_COMMITTED
from pykbroker.partitions.dormant_logs import OPENED_AT_ONCE
from pykbroker.partitions.fetch_sessions import FINAL_EPOCH, NO_SESSION, FetchItem
from pykbroker.security.context import RequestContext
from pykbroker.storage.index.index import WouldBlockError, read_cached
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.frames import CUT_SIZE, FrameWriter
from pykbroker.wire.headers import begin_response
from pykbroker.wire.messages.fetch import FetchRequest
from pykbroker.wire.primitives import LONG_UVARINT, UUID_SIZE, Buffer, uvarint

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.fetch_sessions import FetchSession
    from pykbroker.security.context import Peer
    from pykbroker.storage.log.log import Log

SINCE = 11
_FLEXIBLE_SINCE, _IDS_SINCE, _WITHOUT_REPLICA_SINCE = 12, 13, 15
_CONSUMER = -1
#: max wait, min bytes, max bytes, isolation level, session id, session epoch.
_unpack_begin = Struct(">iiibii").unpack_from
_unpack_count = Struct(">i").unpack_from
_unpack_short = Struct(">h").unpack_from
#: Index, leader epoch, offset, log start offset, limit; the later ones with the last fetched epoch, and no tags.
_unpack_partition = Struct(">iiqqi").unpack_from
_unpack_flexible = Struct(">iiqiqiB").unpack_from
#: No throttling, no error, session id, and the number of topics.
_pack_begin = Struct(">ihii").pack
_pack_flexible_begin = Struct(">ihi").pack
#: Index, error, high watermark, last stable offset, log start offset, number of aborted transactions, no preferred replica, size.
_pack_partition = Struct(">ihqqqiii").pack
_pack_flexible = Struct(">ihqqqBi").pack
_pack_topic, _pack_count = Struct(">h").pack, Struct(">i").pack

_key = attrgetter("key")
_partition = attrgetter("partition")

#: What is found of a partition: error, high watermark, last stable offset, log start offset, records.
Found = tuple[FetchItem, int, int, int, int, Buffer]


def answer(
    broker: Broker, peer: Peer, frame: memoryview, body: int, version: int, header: tuple[int, str | None]
) -> list[Buffer] | tuple[RequestContext, FetchRequest, Any] | None:
    """The pieces of the answer to the request whose body begins at ``body`` in ``frame``; ``header`` has its correlation id and the
    client's. Where it waits, or its logs are to be read otherwise, what the dispatcher goes on with: the request, without its
    partitions, and its response or the wait for it. None for an unusual request, of which nothing has been done.
    """
    if broker.authorizer is not None or broker.reads_by_rack or broker.leaving or len(frame) >= LARGE:
        return None
    try:
        usual = (_read_flexible if version >= _FLEXIBLE_SINCE else _read)(frame, body, version)
    except (IndexError, ValueError, struct_error):
        return None  # malformed
    if usual is None:
        return None
    request, requested = usual
    session = None
    if request.session_id != NO_SESSION:
        session = broker.fetch_sessions.session(request.session_id)
    if not _is_usual(broker, request, session, requested, version):
        return None
    items: Iterable[FetchItem] = requested
    if session is not None:
        broker.fetch_sessions.go_on(session)
        for item in requested:
            session.ask(item)
            if item.partition is not None:  # it is new
                session.watch(item, item.partition)
        items = session.ready_in_order()
    look = _Look(broker, request)
    if look.reads(items) and (look.is_enough or request.max_wait_ms <= 0):
        out = begin_response(ApiKey.FETCH, version, header[0])
        _UsualResponse(session, look).encode(out, version)
        return out.finish()
    ctx = RequestContext(ApiKey.FETCH, version, *header, peer.host, peer.listener, peer.principal, peer)
    fetch = _WaitingFetch(broker, ctx, request, session, requested)
    return ctx, request, fetch.wait(look.needed, look.size) if look.is_certain else fetch.run()


def _read(frame: memoryview, pos: int, version: int) -> tuple[FetchRequest, list[FetchItem]] | None:
    """The request without its partitions, and these. Raises IndexError, ValueError or struct.error where it is malformed."""
    (replica,) = _unpack_count(frame, pos)
    request = FetchRequest(None, replica, None, *_unpack_begin(frame, pos + 4))
    (topics,) = _unpack_count(frame, pos + 25)
    pos += 29
    requested = []
    for _ in range(topics):
        (length,) = _unpack_short(frame, pos)
        pos += 2 + length
        topic = str(frame[pos - length : pos], "utf-8")
        (count,) = _unpack_count(frame, pos)
        pos += 4
        if length <= 0 or count <= 0:
            return None
        for _ in range(count):
            index, epoch, offset, start, limit = _unpack_partition(frame, pos)
            requested.append(FetchItem(topic, index, epoch, offset, -1, start, limit))
            pos += 28
    forgotten, rack = _unpack_count(frame, pos)[0], _unpack_short(frame, pos + 4)[0]
    whole = topics >= 0 and not forgotten and rack >= 0 and pos + 6 + rack == len(frame)
    return (request, requested) if whole else None


def _read_flexible(frame: memoryview, pos: int, version: int) -> tuple[FetchRequest, list[FetchItem]] | None:
    """The same from version 12 on."""
    replica = _CONSUMER
    if version < _WITHOUT_REPLICA_SINCE:
        (replica,) = _unpack_count(frame, pos)
        pos += 4
    request = FetchRequest(None, replica, None, *_unpack_begin(frame, pos))
    topics = frame[pos + 21]
    pos += 22
    by_id = version >= _IDS_SINCE
    requested = []
    for _ in range(topics - 1):
        start, length = pos, UUID_SIZE if by_id else frame[pos]
        pos += length
        topic = bytes(frame[start:pos]) if by_id else str(frame[start + 1 : pos], "utf-8")
        count = frame[pos]
        pos += 1
        if not 0 < length < LONG_UVARINT or not 1 < count < LONG_UVARINT:
            return None
        for _ in range(count - 1):
            index, epoch, offset, last, start, limit, tags = _unpack_flexible(frame, pos)
            pos += 33
            if tags:
                return None
            requested.append(FetchItem(topic, index, epoch, offset, last, start, limit))
        if frame[pos]:
            return None
        pos += 1
    rack = frame[pos + 1]
    whole = 0 < topics < LONG_UVARINT and frame[pos] == 1 and 0 < rack < LONG_UVARINT and pos + 2 + rack == len(frame)
    return (request, requested) if whole and not frame[pos + 1 + rack] else None


def _is_usual(
    broker: Broker, request: FetchRequest, session: FetchSession | None, requested: list[FetchItem], version: int
) -> bool:
    """Whether what is requested is usual; finds the partitions then, except those that the session has found."""
    if request.replica_id != _CONSUMER or request.isolation_level not in (0, READ_COMMITTED):
        return False
    by_id = version >= _IDS_SINCE
    known: dict[Any, FetchItem] = {}
    if session is not None:
        if session.epoch != request.session_epoch or session.uses_topic_ids != by_id or session.is_replica:
            return False
        known = session.items
        if not known or len(session.ready) > AT_ONCE:
            return False
        if requested and not broker.fetch_sessions.has_room(session, len(requested)):
            return False
    elif request.session_id != NO_SESSION or request.session_epoch != FINAL_EPOCH or not requested:
        return False
    find: Any = broker.find_by_id if by_id else broker.find
    for item in requested:
        if not known or item.key not in known:
            partition = item.partition = find(item.key)
            if partition is None:
                return False
            if by_id:
                item.name = partition.topic
    if len(requested) > OPENED_AT_ONCE and broker.dormant.new and broker.dormant.closed(map(_partition, requested)):
        return False
    return len(requested) == 1 or len(set(map(_key, requested))) == len(requested)


class _Look:
    """One look at the logs of partitions."""

    def __init__(self, broker: Broker, request: FetchRequest) -> None:
        self._broker = broker
        self.is_committed = request.isolation_level == READ_COMMITTED
        self._left = min(request.max_bytes, broker.fetch_max_bytes)
        self._inline = broker.runtime.memory.answer_bytes(attempt.INLINE_BYTES, CUT_SIZE)
        self.needed = min(request.min_bytes, self._left)
        self.size = 0
        self.found: list[Found] = []
        #: Whether an error is to be answered at once.
        self.is_urgent = False
        #: Whether all was read, and the size is what counts: as it may not where the limits of the request cut anything off.
        self.is_certain = True

    @property
    def is_enough(self) -> bool:
        """Whether to answer now."""
        return self.is_urgent or self.size >= self.needed

    def reads(self, items: Iterable[FetchItem]) -> bool:
        """Whether all that is requested could be read so."""
        node_id, is_committed = self._broker.node_id, self.is_committed
        for item in items:
            partition, epoch = item.partition, item.current_leader_epoch
            if (
                partition is None
                or partition.deleted
                or partition.leader != node_id
                or epoch not in (partition.leader_epoch, -1)
            ):
                self.is_certain = False
                return False
            limit, left, inline = item.max_bytes, self._left, self._inline - self.size
            if limit > left:  # noqa: PLR1730 - min() and max() are calls, and each partition of a fetch comes here
                limit = left
            if inline < CUT_SIZE:  # noqa: PLR1730
                inline = CUT_SIZE
            offset, last_epoch = item.fetch_offset, item.last_fetched_epoch
            try:
                log = partition.opened_log or partition.log
                upper = high_watermark = stable = log.high_watermark
                producers = log.producers
                if producers.uncommitted_ends or producers.first_unstable_offset is not None:
                    stable = log.last_stable_offset  # which is the high watermark where no transaction is open
                    upper = stable if is_committed else high_watermark
                records = None
                if last_epoch < 0 or (last_epoch == log.epochs.latest and offset <= log.log_end_offset):
                    records = log.read_rest(offset, limit if limit < inline else inline, upper)  # noqa: FURB136
                    if records is None:
                        records, upper = self._read_older(log, offset, limit, inline, upper)
                    if records and is_committed and _has_aborted(log, offset, upper):
                        records = None
            except KafkaError as error:
                self.is_urgent = True
                self.found.append((item, error.code, -1, -1, -1, b""))
                continue
            if records is None:
                self.is_certain = False
                return False
            size = len(records)
            self.size += size
            self._left -= size
            self.found.append((item, 0, high_watermark, stable, log.log_start_offset, records))
        return self.is_certain or self.is_enough

    def _read_older(self, log: Log, offset: int, limit: int, inline: int, upper: int) -> tuple[Buffer | None, int]:
        """What is answered of a log from ``offset`` on, and the offset after it; None where it is not in memory, or stays in its file."""
        self.is_certain = False
        older = log.read_on(offset, limit, upper) if limit <= inline else None
        if older is not None:
            return older
        plan = log.plan_read(offset, limit, upper_offset=upper, at_least_one=not self.size)
        if plan is None:
            return b"", upper
        found = plan.read_now(inline)
        return None if isinstance(found, StoredRecords) else found, plan.end_offset


def _has_aborted(log: Log, offset: int, upper: int) -> bool:
    """Whether there are aborted transactions, or it is not known without waiting."""
    try:
        return bool(log.aborted_transactions(offset, upper, read_cached))
    except WouldBlockError:
        return True


class _UsualResponse:
    """Takes the place of a FetchResponse: what was found, as far as it is answered."""

    def __init__(self, session: FetchSession | None, look: _Look) -> None:
        self._session_id = NO_SESSION
        self._aborted = 0 if look.is_committed else -1
        found = look.found
        if session is not None:
            self._session_id = session.id
            found = [each for each in found if _sends(session, *each)]
        #: By topics, one of which is named again where others come in between.
        self._topics: list[tuple[str | bytes, list[Found]]] = []
        topic: str | bytes | None = None
        of_topic: list[Found] = []
        for each in found:
            if each[0].topic != topic:
                topic, of_topic = each[0].topic, []
                self._topics.append((topic, of_topic))
            of_topic.append(each)

    def encode(self, out: FrameWriter, version: int) -> None:
        """Append the response to a frame."""
        if version >= _FLEXIBLE_SINCE:
            self._encode_flexible(out)
            return
        out += _pack_begin(0, 0, self._session_id, len(self._topics))
        for topic, found in self._topics:
            name = topic.encode() if isinstance(topic, str) else topic
            out += _pack_topic(len(name))
            out += name
            out += _pack_count(len(found))
            for item, code, high_watermark, stable, start, records in found:
                size, aborted = len(records), -1 if code else self._aborted
                out += _pack_partition(item.index, code, high_watermark, stable, start, aborted, -1, size)
                if size > CUT_SIZE:  # ``write_records`` in place
                    out.cuts.append((len(out), records))
                else:
                    out += records

    def _encode_flexible(self, out: FrameWriter) -> None:
        out += _pack_flexible_begin(0, 0, self._session_id)
        out += uvarint(len(self._topics) + 1)
        for topic, found in self._topics:
            if isinstance(topic, str):
                name = topic.encode()
                out += uvarint(len(name) + 1)
                out += name
            else:
                out += topic
            out += uvarint(len(found) + 1)
            for item, code, high_watermark, stable, start, records in found:
                size, aborted = len(records), 0 if code else self._aborted + 1
                out += _pack_flexible(item.index, code, high_watermark, stable, start, aborted, -1)
                out += uvarint(size + 1)
                if size > CUT_SIZE:  # ``write_records`` in place
                    out.cuts.append((len(out), records))
                else:
                    out += records
                out.append(0)
            out.append(0)
        out.append(0)


def _sends(
    session: FetchSession, item: FetchItem, code: int, high_watermark: int, _: int, start: int, records: Buffer
) -> bool:
    """Whether a session's answer says this of a partition; notes that it does."""
    has_records = bool(records)
    return session.answered(
        item, high_watermark, start, has_records=has_records, has_news=has_records or code != 0, incremental=True
    )


class _WaitingFetch(Fetch):
    """A fetch that waits; what it finds when it is woken is mostly as usual."""

    def retry(self) -> None:
        deferred = self.deferred
        if deferred is None:
            return
        look = _Look(self.broker, self.request)
        if self.broker.leaving or self.is_looking or self.has_many or not look.reads(self.to_look_at()):
            super().retry()
        elif look.is_enough or self.expired:
            self.stop_waiting()
            response: Any = _UsualResponse(self.session, look)
            deferred.complete(response)
        else:
            self.new_bytes = look.size
