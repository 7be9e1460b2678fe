"""Counts requests: around all steps of the dispatcher, while the HTTP side is on.

Every request pays for it, so the path of a Produce that is answered at once is short. State that can be read from the
broker on a scrape is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.handlers.contract import CloseConnection
from pykbroker.http.metrics.answers import count_errors
from pykbroker.http.metrics.times import Times
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.batch_header import HEADER_SIZE
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.runtime.clock import Clock
    from pykbroker.runtime.slices import Steps
    from pykbroker.security.context import RequestContext

    #: Counts a response to a request.
    Count = Callable[[Broker, "RequestCounts", Any, Any], None]

_PRODUCE: Final = int(ApiKey.PRODUCE)
_FETCH: Final = int(ApiKey.FETCH)
#: Position of the number of records in a batch header.
_COUNT_AT: Final = 57
_read_count: Final = Struct(">i").unpack_from
#: Partitions of a topic that are counted together, and the weight of that, of work in slices.
_AT_ONCE: Final = 500
_WEIGHT: Final = 20


class RequestKind(NamedTuple):
    """A kind of request, as the key of its counts."""

    api_key: int
    version: int


class RequestCounts:
    """Counts of requests of one API in one version."""

    __slots__ = ("at_once", "closed", "errors", "fine", "local", "remote", "throttled", "throttled_ms", "total")

    def __init__(self) -> None:
        #: Number of items without an error, and by error code.
        self.fine = 0
        self.errors: Counter[int] = Counter()
        #: Durations of requests that were answered without waiting.
        self.at_once = Times()
        #: Durations of requests that waited: in the handler, waiting, and in total.
        self.local, self.remote, self.total = Times(), Times(), Times()
        #: Requests whose connection was closed instead of a response.
        self.closed = 0
        self.throttled = 0
        self.throttled_ms = 0


class TopicCounts:
    """Bytes, records and requests per partition, written to and read from one topic."""

    FIELDS = (
        *("bytes_in", "bytes_out", "bytes_rejected", "failed_fetches", "failed_produces", "fetches"),
        *("messages_in", "produces"),
    )
    __slots__ = FIELDS

    def __init__(self) -> None:
        self.bytes_in = self.bytes_out = self.bytes_rejected = self.messages_in = 0
        self.produces = self.failed_produces = self.fetches = self.failed_fetches = 0

    def add(self, other: TopicCounts) -> None:
        """Add another topic's counts."""
        for field in self.FIELDS:
            setattr(self, field, getattr(self, field) + getattr(other, field))


class RequestMeter:
    """See the module; ``around`` is a ``Guard``. It belongs to the loop."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self.requests: dict[RequestKind, RequestCounts] = {}
        #: The same by API key and version.
        self._versions: dict[int, dict[int, RequestCounts]] = {}
        self.topics: dict[str, TopicCounts] = {}
        #: The same by what responses name them by: name, or id.
        self._named: dict[str | bytes, TopicCounts] = {}
        #: Counts of deleted and unknown topics.
        self._others = TopicCounts()

    def each_topic(self) -> list[TopicCounts]:
        """Return the counts of each topic, and those of deleted ones: they are added up in slices."""
        return [self._others, *self.topics.values()]

    def merge_other_topics(self, known: Iterable[str]) -> None:
        """Merge the counts of all topics but ``known`` into one, so that the page has no lines for deleted ones."""
        for name in self.topics.keys() - set(known):
            self._others.add(self.topics.pop(name))
            self._named.clear()

    def around(self, api_key: int, handle: Handle, /) -> Handle:
        """Return the handler of an API such that its requests are counted."""
        now, versions = self._now, self._versions.setdefault(api_key, {})
        special: dict[int, Count] = {_PRODUCE: self._produced_at_once, _FETCH: self._fetched}
        count = special.get(api_key, self._count_answer)

        def counted(broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
            counts = versions.get(ctx.api_version) or self._counts(api_key, ctx.api_version)
            began = now()
            try:
                answer = handle(broker, ctx, request)
            except KafkaError as error:
                counts.errors[error.code] += 1
                counts.at_once.note(now() - began)
                raise
            except CloseConnection:
                counts.closed += 1
                raise
            if type(answer) is Deferred:
                self._wait(broker, counts, api_key, request, answer, began)
                return answer
            counts.at_once.note(now() - began)
            if answer is not None:  # acks=0 has no response with errors
                count(broker, counts, answer, request)
            return answer

        return counted

    def _counts(self, api_key: int, version: int) -> RequestCounts:
        counts = self._versions[api_key][version] = self.requests[RequestKind(api_key, version)] = RequestCounts()
        return counts

    def _wait(
        self, broker: Broker, counts: RequestCounts, key: int, request: Any, answer: Deferred[Any], began: float
    ) -> None:
        """Measure a request that waits, on a branch: the client is answered by the original wait."""
        handled = self._now()
        counts.local.note(handled - began)
        # Its buffer may be reused before the response.
        written = sent_batches(request) if key == _PRODUCE else []

        def over() -> None:
            now = self._now()
            counts.remote.note(now - handled)
            counts.total.note(now - began)

        def counted(response: Any) -> None:
            over()
            if response is None:
                return
            if key == _PRODUCE:
                self._produced(broker, counts, written, response)
            elif key == _FETCH:
                self._fetched(broker, counts, response)
            else:
                self._count_answer(broker, counts, response)

        def failed(error: KafkaError) -> None:
            over()
            counts.errors[error.code] += 1

        def closed(_: CloseConnection) -> None:
            counts.closed += 1

        answer.map(counted).recover(KafkaError, failed).recover(CloseConnection, closed).or_log("counting an answer")

    def _count_answer(self, _broker: Broker, counts: RequestCounts, response: Any, _request: Any = None) -> None:
        count_errors(response, counts.errors)
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms:
            _note_throttle(counts, throttle_ms)

    def _produced_at_once(self, broker: Broker, counts: RequestCounts, response: Any, request: Any) -> None:
        """Count a Produce response while the request can still be read."""
        responses = response.responses
        # fast path: small requests are one batch, and nothing is wrong with it
        if len(responses) == 1 and len(responses[0].partition_responses) == 1:
            answers = responses[0]
            topic = self._named.get(answers.name or answers.topic_id)
            if topic and not answers.partition_responses[0].error_code and not response.throttle_time_ms:
                records = request.topic_data[0].partition_data[0].records
                counts.fine += 1
                topic.produces += 1
                topic.bytes_in += len(records)
                topic.messages_in += _read_count(records, _COUNT_AT)[0]
                return
        self._produced(broker, counts, sent_batches(request), response)

    def _produced(self, broker: Broker, counts: RequestCounts, sent: Iterable[tuple[int, int]], response: Any) -> None:
        """Count a Produce response, a large one in slices; partitions are in the order of the request."""
        broker.runtime.slices.begin(self._count_produced(broker, counts, iter(sent), response))

    def _count_produced(
        self, broker: Broker, counts: RequestCounts, sizes: Iterator[tuple[int, int]], response: Any
    ) -> Steps:
        for answers in response.responses:
            topic = self._topic(broker, answers.name, answers.topic_id)
            for start in range(0, len(answers.partition_responses), _AT_ONCE):
                for answer in answers.partition_responses[start : start + _AT_ONCE]:
                    size, messages = next(sizes, (0, 0))
                    topic.produces += 1
                    if answer.error_code:
                        counts.errors[answer.error_code] += 1
                        topic.failed_produces += 1
                        topic.bytes_rejected += size
                    else:
                        counts.fine += 1
                        topic.bytes_in += size
                        topic.messages_in += messages
                yield _WEIGHT
        if response.throttle_time_ms:
            _note_throttle(counts, response.throttle_time_ms)

    def _fetched(self, broker: Broker, counts: RequestCounts, response: Any, _request: Any = None) -> None:
        broker.runtime.slices.begin(self._count_fetched(broker, counts, response))

    def _count_fetched(self, broker: Broker, counts: RequestCounts, response: Any) -> Steps:
        if response.error_code:
            counts.errors[response.error_code] += 1
        else:
            counts.fine += 1
        for answers in response.responses:
            topic = self._topic(broker, answers.topic, answers.topic_id)
            for start in range(0, len(answers.partitions), _AT_ONCE):
                for answer in answers.partitions[start : start + _AT_ONCE]:
                    topic.fetches += 1
                    topic.bytes_out += _size(answer.records)
                    if answer.error_code:
                        counts.errors[answer.error_code] += 1
                        topic.failed_fetches += 1
                yield _WEIGHT
        if response.throttle_time_ms:
            _note_throttle(counts, response.throttle_time_ms)

    def _topic(self, broker: Broker, name: str | None, topic_id: bytes) -> TopicCounts:
        """Return the counts of a topic by name, or by id in versions without names.

        Unknown topics share one, since clients may send any number of names.
        """
        topic = self._named.get(name or topic_id)
        if topic is None:
            known = name or broker.topic_name(topic_id) or ""
            if known not in broker.metadata.image.topics:
                return self._others
            topic = self._named[name or topic_id] = self.topics.setdefault(known, TopicCounts())
        return topic


def sent_batches(request: Any) -> list[tuple[int, int]]:
    """Return bytes and records of each batch of a Produce request."""
    found: list[tuple[int, int]] = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            size = len(records) if type(records) is memoryview else _size(records)
            found.append((size, _read_count(records, _COUNT_AT)[0] if size >= HEADER_SIZE else 0))
    return found


def _size(records: Any) -> int:
    if type(records) is memoryview or type(records) is bytes:
        return len(records)
    if records is None:
        return 0
    return sum(map(len, records)) if isinstance(records, list) else len(records)


def _note_throttle(counts: RequestCounts, ms: int) -> None:
    if ms:
        counts.throttled += 1
        counts.throttled_ms += ms
