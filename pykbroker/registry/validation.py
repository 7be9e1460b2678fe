"""Validation of records by their schema ids, for topics with ``confluent.value.schema.validation`` or the key's: a record whose id is not
known under its subject is refused with INVALID_RECORD. Source: Confluent's documentation of broker-side schema id validation.

A step around Produce, which is there only while a topic has the setting. It reads the frame of each key and value and not what follows.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from pykbroker.handlers import produce
from pykbroker.handlers.contract import NotYet, again_when_ready
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.process.unvalidated import PARTS, asks_for_validation
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.schema import AVRO, PROTOBUF, Version
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import DEFAULT_CONTEXT
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.storage.log.content import rejected
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.batch_header import HEADER_SIZE, read_batch_header
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.messages.produce import ProduceResponse, TopicProduceResponse
from pykbroker.wire.records import decode_some, unpacked

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.process.life import Life
    from pykbroker.process.node import Node
    from pykbroker.registry.registry import Registry
    from pykbroker.runtime.memory import MemoryBudget
    from pykbroker.runtime.slices import Steps
    from pykbroker.security.context import Peer, RequestContext
    from pykbroker.wire.messages.produce import ProduceRequest

log = logging.getLogger(__name__)

_STRATEGY: Final = "confluent.{}.subject.name.strategy"
TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME = (
    f"io.confluent.kafka.serializers.subject.{each}Strategy" for each in ("TopicName", "RecordName", "TopicRecordName")
)
#: The weight of a look at a topic's settings.
_WEIGHT_OF_A_TOPIC: Final = 0.2
_FRAME: Final = 5
#: A batch that is read at once: uncompressed, of so many bytes. Others are read in a thread, at most so many at once.
_READ_NOW: Final = 4 * 1024
_AT_ONCE: Final = 2
#: What a batch may hold, decompressed; and how many different ids.
_LARGEST_BATCH: Final = 64 * 1024 * 1024
_MOST_IDS: Final = 1000
#: Records that are decoded between two looks of other threads; records whose error is answered; schemas whose names are kept.
_RECORDS_AT_ONCE: Final = 20
_MOST_ERRORS: Final = 100
_MOST_KEPT: Final = 1000
_WHY: Final = "This record has failed the validation on broker and hence will be rejected: "


class Validated(NamedTuple):
    """Of keys and of values the strategy that names their subjects; None where they are not validated."""

    key: str | None
    value: str | None


def validated_by(settings: Mapping[str, str]) -> Validated | None:
    """What the settings of a topic validate; None for nothing."""
    found = Validated(
        *(
            settings.get(_STRATEGY.format(part), TOPIC_NAME) if asks_for_validation(settings, part) else None
            for part in PARTS
        )
    )
    return None if found == (None, None) else found


class FramesOf(NamedTuple):
    """The ids of a batch's keys or values, None for what has no frame, and the records that have each: the first ones, and how many."""

    part: str
    records: dict[int | None, list[int]]
    counts: dict[int | None, int]


def frames(batch: bytes, wanted: Validated) -> list[FramesOf]:
    """The frames of a batch's records. Raises WireError, also for too many ids."""
    header = read_batch_header(batch)
    parts = [FramesOf(part, {}, {}) for part, by in zip(("key", "value"), wanted, strict=True) if by is not None]
    index = 0
    for some in decode_some(unpacked(batch, header, _LARGEST_BATCH), header, _RECORDS_AT_ONCE):
        for record in some:
            for part in parts:
                content = record.key if part.part == "key" else record.value
                if content is not None:
                    number = None if len(content) < _FRAME or content[0] else int.from_bytes(content[1:_FRAME], "big")
                    part.counts[number] = part.counts.get(number, 0) + 1
                    if part.counts[number] <= _MOST_ERRORS:
                        part.records.setdefault(number, []).append(index)
                    if len(part.counts) > _MOST_IDS:
                        raise WireError(f"the batch has more than {_MOST_IDS} schema ids")
            index += 1
    return parts


@dataclass(frozen=True, slots=True)
class CheckedBatch:
    """A batch to be validated, and where it is in its request."""

    topic: str
    index: int
    records: bytes
    wanted: Validated
    at: tuple[int, int]


@dataclass(slots=True)
class Verdicts:
    """Why batches of a request are refused, by where they are in it."""

    refused: dict[tuple[int, int], KafkaError] = field(default_factory=dict)

    def refuse(self, batches: Iterable[CheckedBatch], error: KafkaError) -> None:
        """Refuse all of these."""
        self.refused.update(dict.fromkeys((batch.at for batch in batches), error))


class SchemaValidation:
    """See the module. Belongs to the loop. It follows the lives of the cluster, each from before its clients are accepted."""

    def __init__(self, node: Node, registry: Registry) -> None:
        self._node = node
        self._registry = registry
        self._topics: dict[str, Validated] = {}
        self._done: WeakKeyDictionary[Peer, dict[int, Verdicts]] = WeakKeyDictionary()
        self._names: dict[str, frozenset[str]] = {}
        self._reading = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_in = False
        #: Lives whose settings are not all looked at: a topic's are looked up until then.
        self._looking: set[Life] = set()
        self._leave = node.lifetimes.follow(self._began)
        self._warn_again = node.validation_warnings.cease()

    def close(self) -> None:
        """Validate no more."""
        self._leave()
        self._warn_again()
        self._looking.clear()
        self._topics.clear()
        self._fill()
        for task in self._tasks:
            task.cancel()

    def _began(self, life: Life) -> None:
        self._topics = {}
        self._looking.add(life)
        self._fill()
        life.at_end(partial(self._looking.discard, life))
        life.at_end(life.cluster.metadata.subscribe(self._changed))
        life.cluster.runtime.slices.begin(self._look(life))

    def _look(self, life: Life) -> Steps:
        """Find the topics whose records are validated: there may be many that are not."""
        metadata = life.cluster.metadata
        for kind, name in list(metadata.image.configs):
            if life not in self._looking:
                return
            if kind == TOPIC_RESOURCE:
                self._note(metadata.image, name)
            yield _WEIGHT_OF_A_TOPIC
        self._looking.discard(life)
        self._fill()

    def _changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        for kind, name in delta.configs:
            if kind == TOPIC_RESOURCE:
                self._note(image, name)
        self._fill()

    def _note(self, image: MetadataImage, name: str) -> None:
        found = validated_by(image.topic_config(name))
        if found is None:
            self._topics.pop(name, None)
        else:
            self._topics[name] = found

    def _wanted(self, broker: Broker, name: str) -> Validated | None:
        """What of a topic is validated."""
        if self._looking:
            return validated_by(broker.metadata.image.topic_config(name))
        return self._topics.get(name)

    def _fill(self) -> None:
        """Take the place around the handlers while there is a topic, or may be one."""
        if bool(self._topics or self._looking) is not self._is_in:
            self._is_in = not self._is_in
            places = self._node.server.dispatcher.places
            if self._is_in:
                places.fill(Place.VALIDATE, through(self))
            else:
                places.empty(Place.VALIDATE)

    # ---- the step ------------------------------------------------------------------------------------------------------

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        if ctx.api_key != ApiKey.PRODUCE or request is None:
            return proceed()
        peer = ctx.connection
        verdicts = None if peer is None else self._done.get(peer, {}).pop(ctx.correlation_id, None)
        if verdicts is None:
            batches = self._batches(broker, ctx, request)
            if not batches:
                return proceed()
            verdicts = self._judged_now(batches)
        if verdicts is not None:
            return _answered(broker, ctx, request, verdicts, proceed)
        wait, verdicts = self._judge_later(broker.runtime.memory, batches)
        if peer is None or ctx.in_slices:
            found = verdicts
            _keep_records(broker.runtime.memory, request, wait)
            return wait.chain(
                lambda _: as_wait(again_when_ready(lambda: _answered(broker, ctx, request, found, proceed)))
            )
        self._done.setdefault(peer, {})[ctx.correlation_id] = verdicts
        raise NotYet(wait)

    def _batches(self, broker: Broker, ctx: RequestContext, request: ProduceRequest) -> list[CheckedBatch]:
        """The batches to be validated; those that are refused anyway are left to the handler."""
        found = []
        for at, topic in enumerate(request.topic_data):
            name = broker.topic_name(topic.topic_id) if ctx.api_version >= produce.IDS_SINCE else topic.name
            wanted = None if name is None else self._wanted(broker, name)
            if name is None or wanted is None:
                continue
            for each, data in enumerate(topic.partition_data):
                partition = broker.partition(name, data.index)
                records = _one_batch(data.records)
                if records is not None and partition is not None and partition.leader == broker.node_id:
                    found.append(CheckedBatch(name, data.index, records, wanted, (at, each)))
        return found

    def _judged_now(self, batches: list[CheckedBatch]) -> Verdicts | None:
        """The verdicts, if they take little time and the registry's state is read; else None."""
        state = self._registry.state_if_read()
        by_topic = all(by in (None, TOPIC_NAME) for batch in batches for by in batch.wanted)
        if state is None or not by_topic or sum(len(batch.records) for batch in batches) > _READ_NOW:
            return None
        verdicts = Verdicts()
        for batch in batches:
            if read_batch_header(batch.records).compression is not Compression.NONE:
                return None
            try:
                found = frames(batch.records, batch.wanted)
            except WireError as error:
                verdicts.refused[batch.at] = _unreadable(error)
                continue
            _note(verdicts, batch, found, _Subjects(state, batch, {}))
        return verdicts

    def _judge_later(self, memory: MemoryBudget, batches: list[CheckedBatch]) -> tuple[Deferred[None], Verdicts]:
        """The verdicts, and when they are there; until then, and where they cannot be reached, all are refused."""
        wait: Deferred[None] = Deferred()
        verdicts = Verdicts()
        verdicts.refuse(batches, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "The records are not validated yet"))
        copied = sum(len(batch.records) for batch in batches)
        memory.received.count(copied)

        async def judge() -> None:
            try:
                async with self._reading:
                    verdicts.refused = await self._judge(memory, batches)
            except RegistryError as error:
                verdicts.refuse(batches, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, error.message))
            except Exception:
                log.exception("Unhandled error while records are validated by their schemas; they are refused")
                verdicts.refuse(batches, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The records cannot be validated"))

        def over(task: asyncio.Task[None]) -> None:  # also of one that was cancelled before it began
            self._tasks.discard(task)
            memory.received.give(copied)
            wait.complete(None)

        task = asyncio.get_running_loop().create_task(judge())
        self._tasks.add(task)
        task.add_done_callback(over)
        return wait, verdicts

    async def _judge(self, memory: MemoryBudget, batches: list[CheckedBatch]) -> dict[tuple[int, int], KafkaError]:
        verdicts = Verdicts()
        for batch in batches:
            try:
                found = await self._frames_of(memory, batch)
            except WireError as error:
                verdicts.refused[batch.at] = _unreadable(error)
                continue
            names = await self._names_of(batch, found)
            state = await self._registry.state()
            _note(verdicts, batch, found, _Subjects(state, batch, names))
        return verdicts.refused

    async def _frames_of(self, memory: MemoryBudget, batch: CheckedBatch) -> list[FramesOf]:
        """What ``frames`` finds, in a thread; what is decompressed counts, and waits for its share of the memory budget."""
        if read_batch_header(batch.records).compression is Compression.NONE:
            return await asyncio.to_thread(frames, batch.records, batch.wanted)
        account = memory.decompressed
        granted = account.take(_LARGEST_BATCH)
        try:
            if granted is not None:
                await self._node.lifetimes.outcome(granted)
            return await asyncio.to_thread(frames, batch.records, batch.wanted)
        finally:
            if granted is None or granted.done:
                account.give(_LARGEST_BATCH)

    async def _names_of(self, batch: CheckedBatch, found: list[FramesOf]) -> dict[int, frozenset[str]]:
        """The names of the records of schemas, where a strategy needs them."""
        names: dict[int, frozenset[str]] = {}
        for part in found:
            if _strategy(batch, part.part) == TOPIC_NAME:
                continue
            for number in part.counts:
                state = await self._registry.state()
                version = None if number is None else state.any_with_id(DEFAULT_CONTEXT, number)
                if number is not None and version is not None:
                    names[number] = await self._names_in(version)
        return names

    async def _names_in(self, version: Version) -> frozenset[str]:
        if version.guid not in self._names:
            parsed = await self._registry.parsed(version)
            while len(self._names) >= _MOST_KEPT:
                del self._names[next(iter(self._names))]
            self._names[version.guid] = await self._registry.in_thread(
                lambda: record_names(version.schema.type, parsed)
            )
        return self._names[version.guid]


class _Subjects:
    """The subjects of a batch's records, with the ids of their versions: looked up once for each."""

    def __init__(self, state: RegistryState, batch: CheckedBatch, names: Mapping[int, frozenset[str]]) -> None:
        self._state = state
        self._batch = batch
        self._names = names
        self._ids: dict[str, frozenset[int]] = {}

    def why_not(self, part: str, number: int) -> str | None:
        """Why an id is not one of its subject; None if it is."""
        strategy, topic = _strategy(self._batch, part), self._batch.topic
        if strategy == TOPIC_NAME:
            subjects = [f"{topic}-{part}"]
        else:
            before = f"{topic}-" if strategy == TOPIC_RECORD_NAME else ""
            subjects = [f"{before}{name}" for name in sorted(self._names.get(number, ()))]
        if any(number in self._ids_of(subject) for subject in subjects):
            return None
        under = " or ".join(subjects[:3]) or "the name of its record"
        return f"the schema {number} of its {part} is not registered under {under}"

    def _ids_of(self, subject: str) -> frozenset[int]:
        if subject not in self._ids:
            self._ids[subject] = frozenset(each.id for each in self._state.versions(subject))
        return self._ids[subject]


def _strategy(batch: CheckedBatch, part: str) -> str:
    return (batch.wanted.key if part == "key" else batch.wanted.value) or TOPIC_NAME


def _one_batch(records: Any) -> bytes | None:
    """A copy of a batch; None for what is none, which the handler refuses."""
    if records is None or isinstance(records, list) or len(records) < HEADER_SIZE:
        return None
    try:
        return bytes(records[: read_batch_header(records).size])
    except WireError:
        return None


def _keep_records(memory: MemoryBudget, request: ProduceRequest, until: Deferred[None]) -> None:
    """Copy the records of a request that is handled in a later turn; the copies count until then."""
    copied = 0
    for topic in request.topic_data:
        for data in topic.partition_data:
            if data.records is not None and not isinstance(data.records, list):
                data.records = bytes(data.records)
                copied += len(data.records)
    memory.received.count(copied)
    until.settled().map(lambda _: memory.received.give(copied)).or_log("giving back the memory of copied records")


def _unreadable(error: WireError) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, f"The records cannot be validated: {error}")


def _note(verdicts: Verdicts, batch: CheckedBatch, found: list[FramesOf], subjects: _Subjects) -> None:
    """Note why a batch is refused, if it is."""
    broken = 0
    errors: dict[int, str] = {}
    for part in found:
        for number, count in part.counts.items():
            reason = f"its {part.part} has no schema id" if number is None else subjects.why_not(part.part, number)
            if reason is not None:
                broken += count
                for index in part.records[number]:
                    errors.setdefault(index, f"{_WHY}{reason}")
    if broken:
        first = sorted(errors.items())[:_MOST_ERRORS]
        verdicts.refused[batch.at] = rejected(ErrorCode.INVALID_RECORD, broken, first)


def record_names(kind: str, parsed: Any) -> frozenset[str]:
    """The full names of the records that a parsed schema describes: of Protobuf those of all its messages."""
    if kind == PROTOBUF:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        file = FileDescriptorProto.FromString(base64.b64decode(parsed.serialized))
        return frozenset(_messages(file.message_type, file.package))
    said = json.loads(parsed.text)
    if not isinstance(said, dict):
        return frozenset((said,)) if isinstance(said, str) else frozenset()
    name = said.get("name" if kind == AVRO else "title")
    if not isinstance(name, str):
        return frozenset()
    space = said.get("namespace") if kind == AVRO and "." not in name else None
    return frozenset((f"{space}.{name}" if isinstance(space, str) and space else name,))


def _messages(found: Any, prefix: str) -> list[str]:
    names = []
    left = [(each, prefix) for each in found]
    while left:
        message, before = left.pop()
        name = f"{before}.{message.name}" if before else message.name
        names.append(name)
        left += [(each, name) for each in message.nested_type]
    return names


def _answered(
    broker: Broker, ctx: RequestContext, request: ProduceRequest, verdicts: Verdicts, proceed: Callable[[], Answer]
) -> Answer:
    """Handle what is not refused, and answer the refusals in their places."""
    refused = verdicts.refused
    if not refused:
        return proceed()
    topics = list(request.topic_data)
    order = [(topic, [data.index for data in topic.partition_data]) for topic in topics]
    answers = {
        at: produce.answered(
            _partition(broker, ctx, topics[at[0]], order[at[0]][1][at[1]]),
            error,
            ctx.api_version,
            to_all=False,
            waiting=[],
        )
        for at, error in refused.items()
    }
    for at, topic in enumerate(topics):
        topic.partition_data = [data for each, data in enumerate(topic.partition_data) if (at, each) not in refused]
    request.topic_data = [topic for topic in topics if topic.partition_data]

    def merged(response: ProduceResponse | None) -> ProduceResponse | None:
        handled = {
            (topic.name, bytes(topic.topic_id), data.index): data
            for topic in (response.responses if response is not None else ())
            for data in topic.partition_responses
        }
        made = response or ProduceResponse()
        made.responses = [
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    answers[at, each] if (at, each) in answers else handled[topic.name, bytes(topic.topic_id), index]
                    for each, index in enumerate(indexes)
                    if (at, each) in answers or response is not None
                ],
            )
            for at, (topic, indexes) in enumerate(order)
        ]
        return produce.settle(request, made)

    if not request.topic_data:
        return merged(None)
    answer: Any = proceed()
    return answer.map(merged) if isinstance(answer, Deferred) else merged(answer)


def _partition(broker: Broker, ctx: RequestContext, topic: Any, index: int) -> Any:
    if ctx.api_version >= produce.IDS_SINCE:
        return broker.partition_by_id(topic.topic_id, index)
    return broker.partition(topic.name, index)
